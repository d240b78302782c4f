import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, type SendOperation } from './api.ts'
import { LiveContext } from './live.ts'
import type { Operation } from './operation.ts'
import { useWindowEvent } from './use-view.ts'

/** The current answer to an operation. */
export interface Answer<Data, Variables> {
  /**
   * The latest data: during a request, the data of the former request. When a request fails, only data of the same
   * variables is kept, and only in the memory of the page: browser storage would keep the names of customers after the
   * token has ended.
   */
  data: Data | null
  /** The `Reply.answeredAt` of the data. */
  answeredAt: number | null
  /** The variables of the data. */
  of: Variables | null
  /** True when the data belong to the present variables. */
  isCurrent: boolean
  /** The error of the last request. While the page shows data of the same variables, it stays until the next answer. */
  error: ApiError | null
  loading: boolean
  /** True when the data replaced older data of the same variables after a change, without the viewer's doing. */
  isRefreshed: boolean
  /** Sends the operation again. */
  reload(): void
}

type State<Data, Variables> = Omit<Answer<Data, Variables>, 'isCurrent' | 'reload'> & { cost: number }

/** An answer that has data, or `nothing`. */
type LastAnswer<Data, Variables> = Omit<State<Data, Variables>, 'error' | 'loading' | 'isRefreshed'>

const nothing = { data: null, answeredAt: null, of: null, cost: 0, error: null, loading: true, isRefreshed: false }

/**
 * The wait before data that are not available are requested again, in milliseconds. Figures can take a minute to be
 * ready, and each request for figures counts as some 20 operations.
 */
const retryInterval = 15_000

/**
 * Requests an operation when its variables change, when the browser is online again, and while the service reports that
 * the data is not available. Cancels the former request. `LiveContext` around it refresh the answer after changes.
 *
 * @param variables null: no request is sent yet
 */
export function useAnswer<Data, Variables>(
  request: SendOperation,
  operation: Operation<Data, Variables>,
  variables: Variables | null,
): Answer<Data, Variables> {
  const [state, setState] = useState<State<Data, Variables>>(nothing)
  const [attempt, setAttempt] = useState(0)
  const reload = useCallback(() => setAttempt(number => number + 1), [])
  const last = useRef<LastAnswer<Data, Variables>>(nothing)
  const wanted = useRef(variables)
  wanted.current = variables
  const key = keyOf(variables)
  const live = useContext(LiveContext)
  // The effect depends on the key, because the variables are a new object at each render.
  useEffect(() => {
    const { current } = wanted
    if (current === null) return
    const controller = new AbortController()
    const isKept = keyOf(last.current.of) === key
    let retry: ReturnType<typeof setTimeout> | undefined
    setState(({ error, ...before }) => ({
      ...before,
      ...(isKept && last.current),
      error: keyOf(before.of) === key || error?.kind === 'unavailable' ? error : null,
      loading: true,
      isRefreshed: false,
    }))
    let isAnswered = false
    const ask = (isRefreshed: boolean) =>
      request(operation, current, controller.signal).then(
        reply => {
          if (controller.signal.aborted) return
          isAnswered = true
          last.current = { ...reply, of: current }
          setState({ ...last.current, error: null, loading: false, isRefreshed })
        },
        error => {
          if (controller.signal.aborted) return
          isAnswered = true
          const shown = error instanceof ApiError ? error : new ApiError('other', 'The dashboard failed.')
          // The page must not keep data that the token may not read any more.
          if (shown.kind === 'forbidden') last.current = nothing
          clearTimeout(retry)
          if (shown.kind === 'unavailable') retry = setTimeout(reload, retryInterval)
          const kept = keyOf(last.current.of) === key ? last.current : nothing
          setState({ ...kept, error: shown, loading: false, isRefreshed: false })
        },
      )
    let asked = ask(false)
    const leave = live?.join({
      cost: () => (isAnswered ? last.current.cost : null),
      refresh: () => {
        asked = asked.then(() => (controller.signal.aborted ? undefined : ask(true)))
        return asked
      },
    })
    return () => {
      leave?.()
      controller.abort()
      clearTimeout(retry)
    }
  }, [request, operation, key, attempt, live])
  // Data may have changed while the connection was lost, and requests during that time have failed.
  useWindowEvent('online', reload)
  const isCurrent = key !== null && keyOf(state.of) === key
  return { ...state, isCurrent, reload }
}

/** Returns a text that is the same for equal variables. */
const keyOf = (variables: unknown): string | null => (variables === null ? null : JSON.stringify(variables))
