// Sends operations to the GraphQL API.
import { pause } from '../../client/src/pause.ts'
import type { Operation } from './operation.ts'

/**
 * The reasons of a failure that the dashboard handles differently. `token`: the token is no longer valid.
 * `unavailable`: the data is not available now, but will be later.
 */
type ErrorKind = 'token' | 'forbidden' | 'unavailable' | 'other'

/** A request that failed. */
export class ApiError extends Error {
  /** @param message a sentence for the viewer */
  constructor(
    readonly kind: ErrorKind,
    message: string,
  ) {
    super(message)
  }
}

export interface Reply<Data> {
  /** Fields that the token may not read are null where the schema allows it. */
  data: Data
  /**
   * The time of the answer by the service's clock, in milliseconds since the epoch: the browser's clock may be wrong.
   * Null: unknown.
   */
  answeredAt: number | null
  /** The number of operations that the request used of the rate limit; 0 when the answer does not say. */
  cost: number
}

/**
 * Sends an operation with the token of the session. When the rate limit is exceeded, waits and sends the operation
 * again.
 *
 * @param signal cancels the request
 * @throws ApiError when the answer has no data, or when a part of the data is not available now; `AbortError` when the
 * request is cancelled
 */
export type SendOperation = <Data, Variables>(
  operation: Operation<Data, Variables>,
  variables: Variables,
  signal?: AbortSignal,
) => Promise<Reply<Data>>

/** The callbacks for the state of a session. The data of an answer goes to the caller of `SendOperation`. */
export interface Listener {
  /** Called when the token is not valid any more. */
  onEnd(): void
  /**
   * Called with the time until which requests wait for the rate limit, in milliseconds since the epoch; null when no
   * request waits.
   */
  onWait(until: number | null): void
  /** Called with the remaining rate limit after each answer. */
  onRate(rate: Rate): void
  /**
   * Called with the field errors of an answer with data. `messages` is empty when the last answer of this operation had
   * no field errors, or when its request was cancelled, even after the answer.
   */
  onFieldErrors(operation: string, messages: readonly string[]): void
}

/** The rate limit of the token, and the cost of the last request. */
export interface Rate {
  /** The number of operations that the last request used; null when its answer does not say. */
  cost: number | null
  limit: number
  remaining: number
  /** Seconds. */
  resetsIn: number
}

interface FieldError {
  message: string
  /** `errors` has the messages for each invalid field of the input. */
  extensions?: { code?: string; errors?: Record<string, readonly string[]> }
}

interface Body<Data> {
  data?: Data | null
  errors?: readonly FieldError[]
  /** `requested` is the maximum number of operations of the document, `actual` the number that was counted. */
  extensions?: { cost?: { requested?: number; actual?: number } }
}

/** The maximum number of attempts of an operation while other requests use up the rate limit. */
const maxAttempts = 5

/** Creates the function that sends operations with a token. All operations of one session share its rate limit. */
export function createSendOperation(token: string, listener: Listener): SendOperation {
  /** The time until which requests wait, in milliseconds since the epoch. */
  let pausedUntil = 0
  /** The number of requests that wait. */
  let waiting = 0

  async function waitForRate(signal?: AbortSignal): Promise<void> {
    waiting++
    try {
      while (pausedUntil > Date.now()) {
        listener.onWait(pausedUntil)
        await pause(pausedUntil - Date.now(), signal)
      }
    } finally {
      waiting--
      if (waiting === 0) listener.onWait(null)
    }
  }

  function reportFieldErrors(operation: string, messages: readonly string[], signal?: AbortSignal): void {
    signal?.throwIfAborted()
    listener.onFieldErrors(operation, messages)
    signal?.addEventListener('abort', () => listener.onFieldErrors(operation, []), { once: true })
  }

  return async <Data, Variables>(operation: Operation<Data, Variables>, variables: Variables, signal?: AbortSignal) => {
    for (let attempt = 1; ; attempt++) {
      await waitForRate(signal)
      const response = await send(token, { documentId: operation.id, variables }, signal)
      if (response.status === 401) {
        listener.onEnd()
        throw new ApiError('token', 'The token has ended: it is unknown, expired or revoked.')
      }
      const { data, errors = [], extensions } = await readBody<Data>(response)
      const rate = readRate(response.headers, extensions?.cost?.actual)
      if (rate) listener.onRate(rate)
      const isLimited = response.status === 429 || errors.some(({ extensions }) => extensions?.code === 'RATE_LIMITED')
      // A request that costs more than the rate limit allows in one window would wait forever, so it is not sent again.
      const { requested = 0 } = extensions?.cost ?? {}
      if (isLimited && attempt < maxAttempts && !(rate && requested > rate.limit)) {
        const seconds = Number(response.headers.get('retry-after')) || rate?.resetsIn || 1
        pausedUntil = Math.max(pausedUntil, Date.now() + seconds * 1000)
        continue
      }
      const unavailable = errors.find(({ extensions }) => extensions?.code === 'UNAVAILABLE')
      if (data === undefined || data === null || unavailable) {
        throw toApiError(unavailable ?? errors[0], response.status)
      }
      reportFieldErrors(operation.name, [...new Set(errors.map(describeFieldError))], signal)
      const answeredAt = Date.parse(response.headers.get('date') ?? '') || null
      return { data, answeredAt, cost: rate?.cost ?? 0 }
    }
  }
}

async function send(token: string, body: object, signal?: AbortSignal): Promise<Response> {
  try {
    return await fetch('/graphql', {
      method: 'POST',
      headers: { Accept: 'application/json', Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
      credentials: 'omit',
      cache: 'no-store',
      ...(signal && { signal }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    const message = navigator.onLine
      ? 'The service does not answer. Try again in a moment.'
      : 'This device is offline. The dashboard tries again when it is connected.'
    throw new ApiError('other', message)
  }
}

async function readBody<Data>(response: Response): Promise<Body<Data>> {
  try {
    return await response.json()
  } catch {
    throw new ApiError('other', `The service answered with status ${response.status}. Try again in a moment.`)
  }
}

function readRate(headers: Headers, cost: number | undefined): Rate | null {
  const [limit, remaining, resetsIn] = ['limit', 'remaining', 'reset'].map(name => headers.get(`ratelimit-${name}`))
  if (!limit || !remaining || !resetsIn) return null
  return { cost: cost ?? null, limit: Number(limit), remaining: Number(remaining), resetsIn: Number(resetsIn) }
}

const explanations: Record<string, (message: string) => string> = {
  FORBIDDEN: message => `This token may not see all of it: ${message}`,
  PERSISTED_DOCUMENT_NOT_FOUND: () => 'The service was updated since this page was loaded. Load the page again.',
  // Leaves out the advice to try again, because the dashboard tries again automatically.
  UNAVAILABLE: message => message.replace(/ Try again .*/, ''),
  RATE_LIMITED: () =>
    'This needs more operations than the rate of the token allows in a minute. Choose a shorter period or fewer tenants.',
}

const describeFieldError = ({ message, extensions }: FieldError): string => {
  const causes = Object.values(extensions?.errors ?? {}).flat()
  return explanations[extensions?.code ?? '']?.(message) ?? [message, ...causes].join(' ')
}

const errorKinds: Record<string, ErrorKind> = { FORBIDDEN: 'forbidden', UNAVAILABLE: 'unavailable' }

function toApiError(error: FieldError | undefined, status: number): ApiError {
  const message = error ? describeFieldError(error) : `The service answered with status ${status}.`
  return new ApiError(errorKinds[error?.extensions?.code ?? ''] ?? 'other', message)
}
