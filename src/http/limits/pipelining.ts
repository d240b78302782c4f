/**
 * Handles the requests of a connection in sequence. Node passes on all pipelined requests of a chunk together (RFC 9112
 * §9.3.2), some 2,000 in 64 KiB, so a few connections could block all others.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/**
 * The maximum number of requests of a connection that may wait behind the request under way. Each waiting request takes
 * some 6 kB.
 */
const maxWaiting = 100

/** The requests that wait behind the request under way, by connection. A connection without a request has no entry. */
const queues = new WeakMap<Socket, [IncomingMessage, ServerResponse][]>()

/** Returns whether a request of the connection is under way. */
export const hasRequest = (socket: Socket): boolean => queues.has(socket)

/** Returns whether more requests wait on the connection. */
export const hasWaitingRequests = (socket: Socket): boolean => (queues.get(socket)?.length ?? 0) > 0

/**
 * Passes a request on when the response to the former request on its connection has ended, in a later turn of the event
 * loop. A connection on which more than 100 requests wait is closed. Must be called after all listeners for requests
 * are added.
 */
export function handleInOrder(server: Server): void {
  const listeners = server.listeners('request')
  server.removeAllListeners('request')

  function handle(request: IncomingMessage, response: ServerResponse): void {
    response.once('close', () => {
      const { socket } = request
      if (hasWaitingRequests(socket)) setImmediate(handleNext, socket)
      else queues.delete(socket)
    })
    for (const listener of listeners) listener.call(server, request, response)
  }

  function handleNext(socket: Socket): void {
    const next = queues.get(socket)?.shift()
    // After the last response of a connection, no further request on it is handled.
    if (next && socket.writable) handle(...next)
  }

  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { socket } = request
    const queue = queues.get(socket)
    if (!queue) {
      queues.set(socket, [])
      handle(request, response)
    } else if (queue.length < maxWaiting) {
      queue.push([request, response])
    } else {
      socket.destroy()
    }
  })
}
