import { afterFile } from '../../support/cleanups.ts'
import { type ProcessOptions, serve } from '../../support/process.ts'
import { createFaultServer, type FaultServer } from './server.ts'
import { createWorld } from './world.ts'

/** Settings: a rate that no caller exceeds, and a log without the errors that a fault causes. */
const quiet = { RATE_LIMIT_PER_MINUTE: '1000000', LOG_LEVEL: 'fatal' }

/** Starts a server, which is removed after the tests of the file. Takes the parameters of `createFaultServer`. */
export async function startFaultServer(...of: Parameters<typeof createFaultServer>): Promise<FaultServer> {
  const server = await createFaultServer(...of)
  await server.start()
  afterFile(() => server.remove())
  return server
}

/**
 * Restarts a server to copy its cluster, and starts the copy as a standby, which is removed after the tests of the
 * file.
 */
export async function startStandby(primary: FaultServer): Promise<FaultServer> {
  await primary.stop()
  const standby = await primary.createStandby()
  afterFile(() => standby.remove())
  await primary.start()
  await standby.start()
  return standby
}

/** Starts a server with tenants and their callers. @param of the parameters of `createFaultServer` */
export async function startWorld(database: string, ...of: Parameters<typeof createFaultServer>) {
  const server = await startFaultServer(...of)
  const world = await createWorld(server, database)
  return {
    server,
    world,
    start: (environment: NodeJS.ProcessEnv = {}, options?: ProcessOptions) =>
      serve({ DATABASE_URL: server.url(database), ...quiet, ...environment }, options),
  }
}
