/** Sends a message to an endpoint once, over https, to an allowed address. */
import type dns from 'node:dns'
import type { IncomingMessage, OutgoingHttpHeaders } from 'node:http'
import { Agent, request } from 'node:https'
import { type EndpointSecrets, signedHeaders } from '../domain/event/secret.ts'
import { version } from '../version.ts'
import type { Message } from './event.ts'
import { createAllowedLookup, createIsAllowed, findAddressProblem } from './lookup.ts'

/** The maximum wait for the answer of an endpoint, in milliseconds. */
const answerTimeout = 15_000

/**
 * The maximum number of bytes of an answer's body that are read and discarded, so that the connection can be used
 * again. They are ignored.
 */
const maxIgnored = 64 * 1024

/** The maximum wait that a `Retry-After` can cause, in seconds. */
const longestRetryAfter = 3_600

/** The status of an answer, or the reason why the endpoint did not answer. */
export interface Answer {
  /** Null without an answer. */
  status: number | null
  /** A code of Node, `TIMEOUT` or `ADDRESS_NOT_ALLOWED`; null when the endpoint answered. */
  error: string | null
  durationMs: number
  /** The time in seconds until the endpoint wants the next request; null when the answer does not say. */
  retryAfter: number | null
}

/** Sends a message. Never rejects. */
export type Post = (endpoint: EndpointSecrets & { url: string }, message: Message) => Promise<Answer>

/**
 * Creates the function that sends messages.
 *
 * The lookup is written here, because `request-filtering-agent` writes a false warning when an address has another
 * family than an allowed network, and undici would add a second HTTP client.
 *
 * @param key the key from which the secrets of endpoints are derived
 * @param networks addresses and CIDR ranges that are allowed although the addresses are not public
 * @param lookup finds the addresses of a name
 * @returns the function, and `close`, which ends all connections
 */
export function createPost(
  key: Buffer,
  networks: readonly string[],
  lookup?: typeof dns.lookup,
): { post: Post; close: () => void } {
  const isAllowed = createIsAllowed(networks)
  const agent = new Agent({ keepAlive: true, lookup: createAllowedLookup(isAllowed, lookup) })
  let isClosed = false

  /** @param repeats true to send the request again when the other side has already closed a kept connection */
  function send(url: string, body: string, headers: OutgoingHttpHeaders, signal: AbortSignal, repeats: boolean) {
    return new Promise<Omit<Answer, 'durationMs'>>(resolve => {
      const fail = (error: string) => resolve({ status: null, error, retryAfter: null })
      const sent = request(url, { method: 'POST', agent, headers, signal })
      sent.on('response', ({ statusCode = null, headers }) =>
        resolve({ status: statusCode, error: null, retryAfter: readRetryAfter(headers['retry-after']) }),
      )
      sent.on('response', ignoreBody)
      sent.on('upgrade', ({ statusCode = null }, socket) => {
        socket.destroy()
        resolve({ status: statusCode, error: null, retryAfter: null })
      })
      sent.on('error', error => {
        const code = signal.aborted ? 'TIMEOUT' : 'code' in error ? String(error.code) : error.name
        const isRepeated = repeats && !isClosed && sent.reusedSocket && code === 'ECONNRESET'
        if (isRepeated) resolve(send(url, body, headers, signal, false))
        else fail(code)
      })
      // Ends a try whose connection closed without an answer and without an error.
      sent.on('close', () => fail('ECONNRESET'))
      sent.end(body)
    })
  }

  const post: Post = async (endpoint, { id, body }) => {
    const startedAt = performance.now()
    const sentAt = Math.floor(Date.now() / 1000)
    const headers = {
      ...signedHeaders(key, endpoint, id, sentAt, body),
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
      'user-agent': `voucher-gateway/${version}`,
    }
    const problem = findAddressProblem(endpoint.url, isAllowed)
    const answer = problem
      ? { status: null, error: problem, retryAfter: null }
      : await send(endpoint.url, body, headers, AbortSignal.timeout(answerTimeout), true)
    return { ...answer, durationMs: Math.round(performance.now() - startedAt) }
  }
  const close = () => {
    isClosed = true
    agent.destroy()
  }
  return { post, close }
}

function ignoreBody(response: IncomingMessage): void {
  let ignored = 0
  response.on('data', ({ length }: Buffer) => {
    ignored += length
    if (ignored > maxIgnored) response.destroy()
  })
  response.on('error', () => {})
}

/** Reads the header (RFC 9110 §10.2.3): seconds, or a date. */
function readRetryAfter(header: string | undefined): number | null {
  if (header === undefined) return null
  const seconds = /^\d+$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000
  return Number.isNaN(seconds) ? null : Math.min(Math.max(seconds, 0), longestRetryAfter)
}
