import Fastify, { type FastifyInstance } from 'fastify'
import { closeSilentConnections, connectionLimits } from '../http/timeouts.ts'
import { processRegistry } from './registry.ts'

/**
 * Builds the server of `GET /metrics`, in the text format of Prometheus. It does not listen yet.
 *
 * @param readers each reads a part of the metrics
 */
export function buildMetricsServer(readers: readonly (() => Promise<string>)[]): FastifyInstance {
  // A scraper that sends nothing, or half a request, must not delay the stop.
  const server = Fastify({ ...connectionLimits, forceCloseConnections: true })
  closeSilentConnections(server)
  server.get('/metrics', async (_request, reply) => {
    const parts = await Promise.all(readers.map(read => read()))
    return reply.type(processRegistry.contentType).send(parts.join('\n'))
  })
  return server
}
