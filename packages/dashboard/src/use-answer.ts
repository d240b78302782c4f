import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, type SendOperation } from './api.ts'
import type { Operation } from './operation.ts'

/** The current answer to an operation. */
export interface Answer<Data, Variables> {
  /**
   * The latest data: during a request, the data of the request before. When a request fails, only data of the same
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
  /** The reason why the last request failed, until the next answer when there is data of the same variables. */
  error: ApiError | null
  loading: boolean
  /** Sends the operation again. */
  reload(): void
}

/** An answer that has data, or `nothing`. */
type Last<Data, Variables> = Pick<Answer<Data, Variables>, 'data' | 'answeredAt' | 'of'>

type State<Data, Variables> = Last<Data, Variables> & Pick<Answer<Data, Variables>, 'error' | 'loading'>

const nothing = { data: null, answeredAt: null, of: null, error: null, loading: true }

/** In milliseconds. Figures can take a minute to be ready, and each request for them counts as some 20 operations. */
const retryInterval = 15_000

/**
 * Requests an operation when its variables change, when the browser is online again, and while the service reports that
 * the data is not available. Cancels the request before.
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
  const last = useRef<Last<Data, Variables>>(nothing)
  const wanted = useRef(variables)
  wanted.current = variables
  const key = keyOf(variables)
  // The key stands for the variables, which are a new object each time.
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
    }))
    request(operation, current, controller.signal).then(
      reply => {
        if (controller.signal.aborted) return
        last.current = { ...reply, of: current }
        setState({ ...last.current, error: null, loading: false })
      },
      error => {
        if (controller.signal.aborted) return
        const shown = error instanceof ApiError ? error : new ApiError('service', 'The dashboard failed.')
        // The page must not keep data that the token may not read any more.
        if (shown.kind === 'forbidden') last.current = nothing
        if (shown.kind === 'unavailable') retry = setTimeout(reload, retryInterval)
        setState({ ...(isKept ? last.current : nothing), error: shown, loading: false })
      },
    )
    return () => {
      controller.abort()
      clearTimeout(retry)
    }
  }, [request, operation, key, attempt])
  // Data may have changed while the connection was lost, and requests during that time have failed.
  useEffect(() => {
    addEventListener('online', reload)
    return () => removeEventListener('online', reload)
  }, [reload])
  const isCurrent = key !== null && keyOf(state.of) === key
  return { ...state, isCurrent, reload }
}

/** Returns a text that is the same for equal variables. */
const keyOf = (variables: unknown): string | null => (variables === null ? null : JSON.stringify(variables))
