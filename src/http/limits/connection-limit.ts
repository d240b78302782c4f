import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { hasRequest } from './pipelining.ts'

/**
 * A warning is logged when the connections reach this share of the limit. `interval` is the minimum time between two
 * warnings, in milliseconds.
 */
const warning = { share: 0.8, interval: 60_000 }

/**
 * For each connection beyond the limit, closes the oldest connection without a request, so that idle connections do not
 * block health checks and requests. Logs a warning when the limit is near.
 *
 * @param sockets the open connections, in the order of their arrival
 * @param max the maximum number of connections that the process can have
 */
export function limitConnections({ server, log }: FastifyInstance, sockets: ReadonlySet<Socket>, max: number): void {
  let silentUntil = 0
  server.on('connection', () => {
    if (sockets.size > max) [...sockets].find(socket => !hasRequest(socket))?.destroy()
    if (sockets.size < warning.share * max || performance.now() < silentUntil) return
    silentUntil = performance.now() + warning.interval
    const message = 'few more connections fit into the limit of open files: then idle ones are closed; raise it'
    log.warn({ connections: sockets.size, max }, message)
  })
}
