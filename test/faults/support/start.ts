import { afterFile } from '../../support/cleanups.ts'
import { type ProcessOptions, serve } from '../../support/process.ts'
import { createFaultServer } from './server.ts'
import { createWorld } from './world.ts'

/**
 * The settings of a service under faults: a rate that no caller exceeds, and a log without the errors that a fault
 * causes.
 */
const quiet = { RATE_LIMIT_PER_MINUTE: '1000000', LOG_LEVEL: 'fatal' }

/** Starts a server, which is removed after the file's tests. The parameters are the parameters of `createFaultServer`. */
export async function startFaultServer(settings?: Record<string, string>, programs?: string | null) {
  const server = await createFaultServer(settings, programs)
  await server.start()
  afterFile(() => server.remove())
  return server
}

/**
 * Starts a server with tenants and their callers, which is removed after the file's tests.
 *
 * @param of the settings and the programs of the server, as for `createFaultServer`
 */
export async function startWorld(database: string, ...of: Parameters<typeof startFaultServer>) {
  const server = await startFaultServer(...of)
  const world = await createWorld(server, database)
  return {
    server,
    world,
    start: (environment: NodeJS.ProcessEnv = {}, options?: ProcessOptions) =>
      serve({ DATABASE_URL: server.url(database), ...quiet, ...environment }, options),
  }
}
