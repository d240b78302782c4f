/** Refuses requests before Fastify sees them, which costs a third of an answer by a route. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { hasBody } from './deadline.ts'
import { spreadRetryAfter } from './errors.ts'
import { closeLingering } from './lingering-close.ts'
import { requestId } from './request-id.ts'
import type { RequestLog } from './request-log.ts'

/** A path whose requests are refused, with those below it, and the body that its callers expect. */
interface ShedPath {
  prefix: string
  body: string
}

/**
 * Answers requests of `shedPaths`, to which transports add theirs, with 503 while `isFull`.
 *
 * @param isFull counts a refused request when it returns true
 */
export function shedRequests(app: FastifyInstance, log: RequestLog, isFull: () => boolean): void {
  const { server } = app
  const paths: ShedPath[] = []
  app.decorate('shedPaths', paths)
  const listeners = server.listeners('request')
  server.removeAllListeners('request')
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { url = '' } = request
    const path = paths.find(({ prefix }) => url.startsWith(prefix))
    if (path && isFull()) app.holdRefusal(() => refuse(request, response, path.body, log))
    else for (const listener of listeners) listener.call(server, request, response)
  })
}

function refuse(request: IncomingMessage, response: ServerResponse, body: string, log: RequestLog): void {
  const { method, socket } = request
  if (socket.destroyed) return
  const reqId = requestId(request.headers['x-request-id'])
  const headers = [
    'X-Request-Id',
    reqId,
    'Cache-Control',
    'private, no-store',
    'Retry-After',
    String(spreadRetryAfter()),
    'Content-Type',
    'application/json; charset=utf-8',
    'Content-Length',
    String(body.length),
  ]
  // Node has parsed a body that came with its head.
  if (hasBody(request) && !request.complete) {
    headers.push('Connection', 'close')
    socket.destroySoon = () => {
      request.resume()
      closeLingering(socket)
    }
  }
  response.writeHead(503, headers)
  response.end(body)
  log.writeUnrouted({ reqId, method, status: 503, address: socket.remoteAddress, code: 'UNAVAILABLE' })
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Where requests are refused while the service has too many. */
    shedPaths: ShedPath[]
  }
}
