/** Refuses requests before Fastify sees them, which costs a third of an answer by a route. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { hasBody } from './deadline.ts'
import { spreadRetryAfter } from './errors.ts'
import { closeLingering } from './lingering-close.ts'
import { requestId } from './request-id.ts'
import type { RequestLog } from './request-log.ts'

/** How long a connection may have waited to be accepted before its first request is refused, in milliseconds. */
const maxAcceptWaitMs = 400

/** A path whose requests are refused, with those below it, and the body that its callers expect. */
interface ShedPath {
  prefix: string
  body: string
}

/**
 * Answers requests of `shedPaths`, to which transports add theirs, with 503 while `isFull`, and the first request of a
 * connection that has waited long to be accepted: Node accepts one connection in a turn of its event loop, so under
 * overload they queue.
 *
 * @param isFull counts a refused request when it returns true
 */
export function shedRequests(app: FastifyInstance, log: RequestLog, isFull: (isLate: boolean) => boolean): void {
  const { server } = app
  const paths: ShedPath[] = []
  app.decorate('shedPaths', paths)
  const isLate = watchAcceptQueue(app)
  const listeners = server.listeners('request')
  server.removeAllListeners('request')
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const late = isLate(request.socket)
    const { url = '' } = request
    const path = paths.find(({ prefix }) => url.startsWith(prefix))
    if (path && isFull(late)) refuse(request, response, path.body, log)
    else for (const listener of listeners) listener.call(server, request, response)
  })
}

function refuse(request: IncomingMessage, response: ServerResponse, body: string, log: RequestLog): void {
  const reqId = requestId(request.headers['x-request-id'])
  const send = () => {
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
    if (hasBody(request) && !request.complete) {
      headers.push('Connection', 'close')
      request.socket.destroySoon = () => {
        request.resume()
        closeLingering(request.socket)
      }
    }
    response.writeHead(503, headers)
    response.end(body)
    const { method, socket } = request
    log.writeUnrouted({ reqId, method, status: 503, address: socket.remoteAddress, code: 'UNAVAILABLE' })
  }
  // Node parses a body after it has called the listeners.
  if (hasBody(request)) setImmediate(send)
  else send()
}

/**
 * Watches how long connections may have waited: at most since the last turn of the event loop that accepted none.
 *
 * @returns a function that says, once for each socket, whether it may have waited too long
 */
function watchAcceptQueue({ server }: FastifyInstance): (socket: Socket) => boolean {
  const late = new WeakSet<Socket>()
  let since = 0
  let accepted = false
  const endTurn = () => {
    if (!accepted) {
      since = 0
      return
    }
    accepted = false
    setImmediate(endTurn)
  }
  server.on('connection', (socket: Socket) => {
    const now = performance.now()
    accepted = true
    if (since === 0) {
      since = now
      setImmediate(endTurn)
    } else if (now - since > maxAcceptWaitMs) {
      late.add(socket)
    }
  })
  return socket => late.delete(socket)
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Where requests are refused while the service has too many. */
    shedPaths: ShedPath[]
  }
}
