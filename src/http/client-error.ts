import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { ConnectionError } from 'fastify'
import { closeLingering } from './lingering-close.ts'

/** Responses by the error code of Node's HTTP parser; every other code means invalid HTTP. */
const responses: Record<string, { status: string; message: string }> = {
  ERR_HTTP_REQUEST_TIMEOUT: { status: '408 Request Timeout', message: 'The request took too long to arrive.' },
  HPE_HEADER_OVERFLOW: { status: '431 Request Header Fields Too Large', message: 'The request headers are too large.' },
}
const invalidHttp = { status: '400 Bad Request', message: 'The request is not valid HTTP.' }

/**
 * Answers bytes that Node could not parse as a request with an error body (R17, R18), and closes the connection.
 * Fastify calls it as its `clientErrorHandler`.
 */
export function sendClientError({ code }: ConnectionError, socket: Socket): void {
  // The parser reports the same error again for each chunk that arrives after it.
  if (socket.writableEnded) return
  if (code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, message } = responses[code] ?? invalidHttp
  const body = JSON.stringify({ message })
  const head = [
    `HTTP/1.1 ${status}`,
    `X-Request-Id: ${randomUUID()}`,
    'Cache-Control: private, no-store',
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  socket.write(`${head.join('\r\n')}\r\n\r\n${body}`)
  closeLingering(socket)
}
