import Fastify, { type FastifyInstance } from 'fastify'
import type { Config } from '../../config/config.ts'
import { closeSilentConnections, connectionLimits } from '../../http/limits/timeouts.ts'
import { createDatabaseReader } from '../../metrics/read-database.ts'
import { databaseRegistry } from '../../metrics/registry.ts'
import type { Database } from '../database/database.ts'
import { listenAt } from './listen.ts'

/**
 * Serves `GET /metrics` on `METRICS_PORT`, in the text format of Prometheus.
 *
 * @param readProcesses reads the metrics of the processes of the service, as text
 * @param report receives errors of the database
 * @returns the server; the caller closes it
 * @throws Error as `listen` does
 */
export async function serveMetrics(
  { host, metricsPort = 0 }: Config,
  { health }: Database,
  readProcesses: () => Promise<string>,
  report: (error: unknown) => void,
): Promise<FastifyInstance> {
  const readDatabase = createDatabaseReader(health, report)
  // A stop closes all connections at once, so that a scraper that sends nothing, or half a request, does not delay it.
  const server = Fastify({ ...connectionLimits, forceCloseConnections: true })
  closeSilentConnections(server)
  server.get('/metrics', async (_request, reply) => {
    const parts = await Promise.all([readProcesses(), readDatabase()])
    return reply.type(databaseRegistry.contentType).send(parts.join('\n'))
  })
  await listenAt(host, 'METRICS_PORT', metricsPort, address => server.listen({ host: address, port: metricsPort }))
  return server
}
