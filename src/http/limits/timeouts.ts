/** Time limits, in milliseconds, after which a connection is closed because the caller sends or reads nothing. */

import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'

/**
 * The limits of requests, which `deadline.ts` enforces: `answer` from the arrival of the whole request to the beginning
 * of its answer, `body` from the arrival of the head to the arrival of the body.
 */
export const requestDeadlines = { answer: 4_800, body: 8_000 }

/** Options of Fastify: the limits that Node enforces. */
export const connectionLimits = {
  // Longer than load balancers keep idle connections open (60 s), so that the load balancer closes a connection first.
  keepAliveTimeout: 72_000,
  // The limit for a connection that has a request or an unread answer, and on which no byte moves. Node checks at the
  // end of each such interval, so closing takes up to twice this time.
  connectionTimeout: 30_000,
  requestTimeout: 20_000,
  http: {
    headersTimeout: 10_000,
    connectionsCheckingInterval: 2_000,
    // Off, because Node's own refusal has no headers of ours (R17): `invalid-http.ts` checks the `Host` header instead.
    requireHostHeader: false,
  },
} as const

/** The maximum wait until the caller closes a connection that the service has closed, in milliseconds. */
const closeTimeoutMs = 5_000

/**
 * Closes connections on which no byte moves. A connection of a caller that does not read its answers is reset, because
 * the kernel would otherwise keep some megabytes of answers for it.
 */
export function closeSilentConnections({ server }: FastifyInstance): void {
  server.on('timeout', (socket: Socket) => {
    if (socket.writableLength > 0) {
      socket.resetAndDestroy()
      return
    }
    socket.end()
    const timer = setTimeout(() => socket.resetAndDestroy(), closeTimeoutMs).unref()
    socket.once('close', () => clearTimeout(timer))
  })
}
