import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { createDatabaseReader } from '../metrics/read-database.ts'
import { buildMetricsServer } from '../metrics/server.ts'
import type { Database } from './database.ts'
import { listenAt } from './listen.ts'

/**
 * Serves the metrics on `METRICS_PORT`.
 *
 * @param readProcesses reads what the processes of the service do, as text
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
  const server = buildMetricsServer([readProcesses, createDatabaseReader(health, report)])
  await listenAt(host, 'METRICS_PORT', metricsPort, address => server.listen({ host: address, port: metricsPort }))
  return server
}
