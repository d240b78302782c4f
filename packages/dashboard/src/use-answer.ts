import { useCallback, useContext, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, type SendOperation } from './api.ts'
import { LiveContext } from './live.ts'
import type { Operation } from './operation.ts'
import { useWindowEvent } from './use-view.ts'

/** The current answer to an operation, with the state of its request. */
export interface Answer<Data, Variables> {
  /**
   * The latest data; during a request, the data of the previous request. When a request fails, only data of the same
   * variables is kept. The data stays only in the memory of the page, because browser storage would keep the names of
   * customers after the token has ended.
   */
  data: Data | null
  /** The `Reply.answeredAt` of the data. */
  answeredAt: number | null
  /** The variables of the data. */
  of: Variables | null
  /** True when the data belongs to the current variables. */
  isCurrent: boolean
  /**
   * The error of the last request. While the page shows data of the same variables, the error stays until the next
   * answer.
   */
  error: ApiError | null
  loading: boolean
  /** True when a live update replaced older data of the same variables, without an action of the viewer. */
  isRefreshed: boolean
  /** Sends the operation again. */
  reload(): void
}

type State<Data, Variables> = Omit<Answer<Data, Variables>, 'isCurrent' | 'reload'> & { cost: number }

/** The last answer with data, or `initialState` before it. */
type LastAnswer<Data, Variables> = Omit<State<Data, Variables>, 'error' | 'loading' | 'isRefreshed'>

const initialState = { data: null, answeredAt: null, of: null, cost: 0, error: null, loading: true, isRefreshed: false }

/**
 * The wait before unavailable data is requested again, in milliseconds. The service can need a minute to calculate
 * figures, and each request for figures uses about 20 operations.
 */
const retryInterval = 15_000

/**
 * Sends an operation when its variables change, when the browser is online again, and repeatedly while the service
 * reports that the data is not available. Cancels the previous request. A surrounding `LiveContext` also sends the
 * operation again after changes.
 *
 * @param variables null while no request should be sent
 */
export function useAnswer<Data, Variables>(
  request: SendOperation,
  operation: Operation<Data, Variables>,
  variables: Variables | null,
): Answer<Data, Variables> {
  const [state, setState] = useState<State<Data, Variables>>(initialState)
  const [attempt, setAttempt] = useState(0)
  const reload = useCallback(() => setAttempt(number => number + 1), [])
  const last = useRef<LastAnswer<Data, Variables>>(initialState)
  const wanted = useRef(variables)
  wanted.current = variables
  const key = keyOf(variables)
  const live = useContext(LiveContext)
  // The effect depends on the key, because each render creates a new object for the variables.
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
          // The page must not keep data that the token may no longer read.
          if (shown.kind === 'forbidden') last.current = initialState
          clearTimeout(retry)
          if (shown.kind === 'unavailable') retry = setTimeout(reload, retryInterval)
          const kept = keyOf(last.current.of) === key ? last.current : initialState
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
