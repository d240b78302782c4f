/** Lets a service stop without losing a request, as far as HTTP/1.1 allows (RFC 9112 §9.6). */
import { once } from 'node:events'
import { Server, type Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { closeAfterResponse } from './lingering-close.ts'
import { hasRequest, hasWaitingRequests } from './pipelining.ts'

/**
 * The time for which an idle connection stays open, in milliseconds. If a request arrives in this time, its answer
 * closes the connection.
 */
const idleGraceMs = 500

/**
 * The maximum time for requests under way after the listener closes, in milliseconds. It is longer than their deadline.
 */
const requestsTimeoutMs = 5_500

/**
 * The maximum number of turns of the event loop in which waiting connections are accepted before the service stops
 * listening.
 */
const maxAcceptTurns = 1_000

/** Returns the state of a running service that a stop needs. */
export const createDraining = () => ({
  /** Aborted when the service is about to stop. */
  begin: new AbortController(),
  sockets: new Set<Socket>(),
  accepted: 0,
})

type Draining = ReturnType<typeof createDraining>

/**
 * While the service drains, closes each connection after its next answer, which has `Connection: close`. Requests that
 * were sent behind another request on the same connection are all answered first.
 */
export function closeWhileDraining(app: FastifyInstance, draining: Draining): void {
  app.server.on('connection', (socket: Socket) => {
    draining.accepted++
    draining.sockets.add(socket)
    socket.once('close', () => draining.sockets.delete(socket))
  })
  app.addHook('onSend', ({ raw }, reply, payload, done) => {
    if (draining.begin.signal.aborted && !hasWaitingRequests(raw.socket)) closeAfterResponse(reply)
    done(null, payload)
  })
}

/**
 * Waits until requests have ended, and then until connections have ended. During `delay` the service still answers, and
 * each answer closes its connection. Then it stops listening. Idle connections are closed half a second after the
 * beginning at the earliest.
 *
 * @param delay the time for which the service still accepts connections, in milliseconds
 * @returns a promise that resolves when no connection is left. Connections that are open 5.5 seconds after the end of
 *   listening are reset
 */
export async function drain(app: FastifyInstance, draining: Draining, delay: number): Promise<void> {
  const { server } = app
  const idleUntil = performance.now() + Math.max(delay, idleGraceMs)
  draining.begin.abort()
  await sleep(delay)
  await emptyAcceptQueue(draining)
  const underWay = [...draining.sockets].filter(hasRequest)
  app.log.info({ requests: underWay.length, connections: draining.sockets.size }, 'draining')
  const closed = once(server, 'close')
  // `server.close` of Node is not used, because it closes idle connections immediately.
  Server.prototype.close.call(server)
  const sweep = setInterval(() => {
    if (performance.now() < idleUntil) return
    server.closeIdleConnections()
    // Node does not count a connection on which no byte has arrived as idle.
    for (const socket of draining.sockets) if (socket.bytesRead === 0) socket.destroy()
  }, 50)
  const limit = setTimeout(() => {
    // Without a reset, the kernel would keep sending its buffer to callers that do not read.
    for (const socket of draining.sockets) socket.resetAndDestroy()
  }, requestsTimeoutMs)
  await closed
  clearInterval(sweep)
  clearTimeout(limit)
}

/**
 * Waits for a turn of the event loop in which no connection is accepted, because closing the socket would reset waiting
 * connections.
 */
async function emptyAcceptQueue(draining: Draining): Promise<void> {
  for (let turns = 0, before = -1; before !== draining.accepted && turns < maxAcceptTurns; turns++) {
    before = draining.accepted
    await nextTurn()
    await nextTurn()
  }
}
