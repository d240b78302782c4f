import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, type SendOperation } from './api.ts'
import type { Operation } from './operation.ts'

/** The answer to an operation, as it stands. */
export interface Answer<Data, Variables> {
  /** The last data: during a further request that of the request before. When that fails, only its own data is left. */
  data: Data | null
  /** The variables of the data. */
  of: Variables | null
  /** Whether the data is that of the present variables. */
  isCurrent: boolean
  /** Why the last request failed. */
  error: ApiError | null
  loading: boolean
  /** Sends the operation again. */
  reload(): void
}

type State<Data, Variables> = Pick<Answer<Data, Variables>, 'data' | 'of' | 'error' | 'loading'>

const nothing = { data: null, of: null, error: null, loading: true }

/**
 * Asks for an operation whenever its variables change, and cancels the request before.
 *
 * @param variables null: nothing is asked for yet
 */
export function useAnswer<Data, Variables>(
  request: SendOperation,
  operation: Operation<Data, Variables>,
  variables: Variables | null,
): Answer<Data, Variables> {
  const [state, setState] = useState<State<Data, Variables>>(nothing)
  const [attempt, setAttempt] = useState(0)
  const wanted = useRef(variables)
  wanted.current = variables
  const key = keyOf(variables)
  // The key stands for the variables, which are a new object each time.
  useEffect(() => {
    const { current } = wanted
    if (current === null) return
    const controller = new AbortController()
    setState(({ data, of }) => ({ data, of, error: null, loading: true }))
    request(operation, current, controller.signal).then(
      data => !controller.signal.aborted && setState({ data, of: current, error: null, loading: false }),
      error => {
        if (controller.signal.aborted) return
        const shown = error instanceof ApiError ? error : new ApiError('service', 'The dashboard failed.')
        setState(before => {
          const { data, of } = keyOf(before.of) === key ? before : nothing
          return { data, of, error: shown, loading: false }
        })
      },
    )
    return () => controller.abort()
  }, [request, operation, key, attempt])
  const isCurrent = key !== null && keyOf(state.of) === key
  return { ...state, isCurrent, reload: () => setAttempt(number => number + 1) }
}

/** Returns a text that is the same for equal variables. */
const keyOf = (variables: unknown): string | null => (variables === null ? null : JSON.stringify(variables))
