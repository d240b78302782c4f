/** Answers requests that are not valid HTTP, by Node's parser or RFC 9112, with an error body (R17, R18). */
import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ConnectionError, FastifyInstance } from 'fastify'
import { unparsedRequestChannel } from '../../channels.ts'
import { recordError } from '../request-count.ts'
import type { LogUnrouted } from '../request-log.ts'
import { closeAfterResponse, closeLingering } from './lingering-close.ts'

/** The responses by the error code of Node's HTTP parser. All other codes mean invalid HTTP. */
export const unparsedRequests = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', message: 'The request took too long to arrive.' },
  HPE_HEADER_OVERFLOW: { status: '431 Request Header Fields Too Large', message: 'The request headers are too large.' },
}

/** The response to bytes that are not HTTP. */
export const invalidHttp = { status: '400 Bad Request', message: 'The request is not valid HTTP.' }

/** Answers a request that Node could not parse, and closes the connection. Fastify's `clientErrorHandler`. */
export function sendClientError({ code }: ConnectionError, socket: Socket, log: LogUnrouted): void {
  // The parser reports the same error again for each chunk that arrives after it.
  if (socket.writableEnded) return
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, message } = isKnown(code) ? unparsedRequests[code] : invalidHttp
  const reqId = randomUUID()
  const body = JSON.stringify({ message })
  const head = [
    `HTTP/1.1 ${status}`,
    `X-Request-Id: ${reqId}`,
    'Cache-Control: private, no-store',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  log({ reqId, status: Number.parseInt(status, 10), address: socket.remoteAddress, code })
  unparsedRequestChannel.publish({ code })
  closeLingering(socket)
}

const isKnown = (code: string): code is keyof typeof unparsedRequests => Object.hasOwn(unparsedRequests, code)

/** `uri-host [ ":" port ]` (RFC 9110 §7.2). The header is empty when the client's URL has no host. */
const hostValue = /^(\[[\da-f:.]+\]|([\w.~!$&'()*+,;=-]|%[\da-f]{2})*)(:\d*)?$/i

/** A request target has no fragment, and a URL in it has a host (RFC 9112 §3.2, RFC 9110 §4.2.1). */
const invalidTarget = /#|^https?:\/\/([:/?]|$)/i

/**
 * Answers requests that Node's parser accepts, but RFC 9112 forbids, with 400, and closes their connections: a proxy in
 * front of the service may read such a request as another request, or as two requests.
 */
export function refuseInvalidHttp(app: FastifyInstance): void {
  app.addHook('onRequest', (request, reply, done) => {
    const { raw, originalUrl } = request
    // A target with a host replaces the header (RFC 9112 §3.2.2).
    const named = /^https?:\/\/([^/?#]*)/i.exec(originalUrl)?.[1]
    const hosts = [raw.headers.host ?? '', named ?? '']
    const isValid = !invalidTarget.test(originalUrl) && hosts.every(host => hostValue.test(host))
    if (isValid && hasKnownFraming(raw) && hasOneHost(raw)) {
      if (named !== undefined) raw.headers.host = named
      done()
      return
    }
    recordError(request, { code: 'BAD_REQUEST', reason: invalidHttp.message })
    closeAfterResponse(reply)
    reply.code(400).send({ message: invalidHttp.message })
  })
}

/**
 * Returns whether `Transfer-Encoding` is allowed by RFC 9112 §2.3 and §6.1: not in HTTP/1.0, and only the coding
 * `chunked`.
 */
function hasKnownFraming({ httpVersion, headers: { 'transfer-encoding': coding } }: IncomingMessage): boolean {
  if (httpVersion === '1.0') return coding === undefined
  return httpVersion === '1.1' && (coding === undefined || coding.toLowerCase() === 'chunked')
}

/** Checks RFC 9112 §3.2. `headers` has only the first of several `Host` lines. */
function hasOneHost({ httpVersion, rawHeaders }: IncomingMessage): boolean {
  let lines = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') lines++
  }
  return lines === 1 || (lines === 0 && httpVersion === '1.0')
}
