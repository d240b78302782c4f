import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { ConnectionError } from 'fastify'
import { closeLingering } from './lingering-close.ts'
import type { LogUnrouted } from './request-log.ts'

/** Responses by the error code of Node's HTTP parser; every other code means invalid HTTP. */
export const unparsedRequests = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', message: 'The request took too long to arrive.' },
  HPE_HEADER_OVERFLOW: { status: '431 Request Header Fields Too Large', message: 'The request headers are too large.' },
}

/** The response to bytes that are not HTTP. */
export const invalidHttp = { status: '400 Bad Request', message: 'The request is not valid HTTP.' }

/**
 * Sends an error body (R17, R18) when Node could not parse a request, and closes the connection.
 * Fastify calls it as its `clientErrorHandler`.
 */
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
  closeLingering(socket)
}

const isKnown = (code: string): code is keyof typeof unparsedRequests => Object.hasOwn(unparsedRequests, code)
