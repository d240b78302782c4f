/** Sends requests, and repeats failed requests. */
import { type Answer, errorOf } from './answer-error.ts'
import { VoucherGatewayError } from './error.ts'
import { parseJson } from './json.ts'
import { pause } from './pause.ts'

/** The address and the token of a service, and the limits for its requests. */
export interface ClientOptions {
  /** The address of the service, for example `https://vouchers.example.com`; the address of v1 also works. */
  url: string | URL
  /** The bearer token. */
  token: string
  /**
   * Allows a plain `http://` address of another machine. Anyone on the network between the two machines can then read
   * and change the token and the records. Default: only this machine may have an `http://` address.
   */
  allowHttp?: boolean
  /**
   * The maximum number of attempts of a request; default 8. The pauses between 8 attempts take about 40 seconds in
   * total.
   */
  maxAttempts?: number
  /** The maximum time without a received byte, in milliseconds; default 60,000. */
  timeoutMs?: number
  /**
   * The maximum wait before another attempt, in milliseconds; default 90,000. When `Retry-After` is longer, the call
   * throws the error.
   */
  maxWaitMs?: number
  /** Called before each wait, for example to log the wait; `ms` is the length of the wait. */
  onWait?: (error: VoucherGatewayError, ms: number) => void
  /** Sends the requests; default: the global `fetch`. */
  fetch?: typeof fetch
}

/** Options of every call. */
export interface CallOptions {
  /** Aborts the call, even while it waits. The call then throws the reason of the signal. */
  signal?: AbortSignal | undefined
}

/** The parts of a request, from which `Transport` builds the HTTP request. */
export interface GatewayRequest extends CallOptions {
  /** The path below the address of the service. */
  path: string
  query?: Record<string, string | undefined>
  accept?: string
  /** The body, which is sent as JSON with POST. Without a body, the method is GET. */
  body?: object
  /**
   * True when the request may be repeated although the first attempt may have succeeded, because executing it twice
   * does no harm.
   */
  repeatable: boolean
  /** True when the number of attempts is not limited. */
  isEndless?: boolean
  /** The maximum time without a received byte for this request, in milliseconds; default: `ClientOptions.timeoutMs`. */
  timeoutMs?: number
}

/** A part of an answer's body. */
interface Part {
  text: string
  requestId: string
  headers: Headers
}

/**
 * The maximum number of characters of an answer, or of an export between two cursors. Without a limit, an endless
 * answer would fill the memory.
 */
const maxCharacters = 64 * 1024 * 1024

/**
 * Checks that a text has at most `maxCharacters` characters.
 *
 * @throws VoucherGatewayError `INVALID_RESPONSE` when it is longer
 */
export function requireBounded(length: number, requestId: string): void {
  if (length <= maxCharacters) return
  throw new VoucherGatewayError('The answer of the service has more than 64 Mi characters.', {
    code: 'INVALID_RESPONSE',
    requestId,
  })
}

/** Matches the host names and addresses of this machine. */
const loopbackHosts = /^(localhost|127(\.\d+){3}|\[::1\])$/

/** Sends the requests of one client, with its token, timeouts and attempts. */
export class Transport {
  readonly #base: string
  readonly #options: Required<ClientOptions>

  constructor(options: ClientOptions) {
    const { url, token, allowHttp = false, maxAttempts = 8, onWait = () => {} } = options
    const { timeoutMs = 60_000, maxWaitMs = 90_000 } = options
    // The constructor checks both, because `fetch` would report both as failed connections. JavaScript code can pass
    // the text of an unset variable.
    if (typeof token !== 'string' || !/^[!-~]+$/.test(token)) {
      throw new TypeError('The option token is missing or empty, or holds characters that no token has.')
    }
    if (!URL.canParse(url)) {
      throw new TypeError(
        `The option url is ${url}. Give the address of the service, such as https://vouchers.example.com.`,
      )
    }
    const { origin, hostname, pathname, protocol } = new URL(url)
    if (!/^https?:$/.test(protocol)) {
      throw new TypeError(`${url} is not the address of a service: it must begin with https:// or http://.`)
    }
    if (protocol === 'http:' && !allowHttp && !loopbackHosts.test(hostname)) {
      throw new TypeError(
        `${origin} would get the token unencrypted. Use https://, or set allowHttp for a network that you trust.`,
      )
    }
    this.#base = origin + pathname.replace(/(?<!\/)\/+$/, '').replace(/\/api\/external(\/v1)?$/, '')
    // Wraps `fetch`, because the `fetch` of a browser throws when it is called as a method of another object.
    const fetch = options.fetch ?? ((input, init) => globalThis.fetch(input, init))
    this.#options = { url, token, allowHttp, maxAttempts, timeoutMs, maxWaitMs, onWait, fetch }
  }

  /**
   * Sends a request once, and yields the parts of its answer as they arrive.
   *
   * @throws VoucherGatewayError, or the reason of the signal
   */
  async *read(request: GatewayRequest): AsyncGenerator<Part, void, undefined> {
    const { signal, body } = request
    signal?.throwIfAborted()
    const url = new URL(this.#base + request.path)
    for (const [name, value] of Object.entries(request.query ?? {})) {
      if (value !== undefined) url.searchParams.set(name, value)
    }
    const ending = new AbortController()
    const end = () => ending.abort()
    let requestId = createRequestId()
    let timer: ReturnType<typeof setTimeout> | undefined
    const restartTimer = () => {
      clearTimeout(timer)
      timer = setTimeout(end, Math.min(this.#options.timeoutMs, request.timeoutMs ?? Number.POSITIVE_INFINITY))
    }
    restartTimer()
    signal?.addEventListener('abort', end)
    try {
      const response = await this.#options.fetch(url, {
        method: body ? 'POST' : 'GET',
        headers: {
          accept: request.accept ?? 'application/json',
          authorization: `Bearer ${this.#options.token}`,
          'x-request-id': requestId,
          ...(body && { 'content-type': 'application/json' }),
        },
        body: body ? JSON.stringify(body) : null,
        credentials: 'omit',
        // If `fetch` followed a redirect to another origin, it would drop the token, and the caller would get a
        // misleading 401.
        redirect: 'manual',
        signal: ending.signal,
      })
      restartTimer()
      const { headers } = response
      requestId = headers.get('x-request-id') ?? requestId
      let failure = ''
      const reader = response.body?.getReader()
      const decoder = new TextDecoder()
      for (;;) {
        const { done, value } = (await reader?.read()) ?? { done: true }
        // The timeout stops while the caller works on the part, because then nothing reads from the connection.
        clearTimeout(timer)
        const text = decoder.decode(value, { stream: !done })
        if (response.ok) yield { text, requestId, headers }
        else failure += text
        requireBounded(failure.length, requestId)
        if (done) break
        restartTimer()
      }
      if (!response.ok) throw errorOf(response.status, failure, headers, requestId)
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      if (error instanceof VoucherGatewayError) throw error
      throw ending.signal.aborted
        ? new VoucherGatewayError('The service has not answered in time.', { code: 'TIMEOUT', requestId })
        : new VoucherGatewayError('The connection failed.', { code: 'CONNECTION_FAILED', requestId, cause: error })
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      // Cancels the rest of the answer when the caller stops early.
      end()
    }
  }

  /**
   * Sends a request, and repeats it until an attempt succeeds or no attempt is left.
   *
   * @param check throws when the answer has a success status but contains an error
   */
  async send(request: GatewayRequest, check?: (answer: Answer) => void): Promise<Answer> {
    for (let failures = 1; ; failures++) {
      try {
        let text = ''
        let last: Part | undefined
        for await (const part of this.read(request)) {
          text += part.text
          requireBounded(text.length, part.requestId)
          last = part
        }
        const { requestId = '', headers = new Headers() } = last ?? {}
        const answer = { body: parseJson(text), requestId, headers }
        check?.(answer)
        return answer
      } catch (error) {
        await this.waitAfter(error, failures, request)
      }
    }
  }

  /**
   * Waits before the next attempt of a request.
   *
   * @param failures the number of attempts that have failed in a row
   * @throws the error, when no further attempt is allowed
   */
  async waitAfter(error: unknown, failures: number, { repeatable, isEndless, signal }: GatewayRequest): Promise<void> {
    if (!(error instanceof VoucherGatewayError)) throw error
    // With these codes the service asks for a new attempt. After UNAVAILABLE, a resolution may have issued a token,
    // which expires unused.
    const isAskedFor = error.code === 'RATE_LIMITED' || error.code === 'UNAVAILABLE'
    const isUnknown = error.code === 'CONNECTION_FAILED' || error.code === 'TIMEOUT'
    if (!isAskedFor && !(repeatable && isUnknown)) throw error
    // Waits at least a second, even when a proxy sends less, and never less than Retry-After, because the rate window
    // is fixed. Adds random jitter, so that clients do not all retry at the same time.
    const jitter = error.retryAfter === undefined ? Math.min(30_000, 500 * 2 ** (failures - 1)) : 1000
    const ms = Math.max(1, error.retryAfter ?? 0) * 1000 + Math.random() * jitter
    if ((failures >= this.#options.maxAttempts && !isEndless) || ms > this.#options.maxWaitMs) throw error
    this.#options.onWait(error, ms)
    await pause(ms, signal)
  }
}

/**
 * The client creates the id, so that a request without an answer also has one. Browsers offer `crypto.randomUUID` only
 * to secure pages.
 */
const createRequestId = () =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), byte => byte.toString(16).padStart(2, '0')).join('')
