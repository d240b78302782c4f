import { setFlagsFromString } from 'node:v8'
import { Command } from 'commander'
import type { FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { demoTenant } from '#demo'
import { type Config, readConfig } from '../../config/config.ts'
import { letDriverCompile } from '../../db/connection/compilable.ts'
import { findExcessRights } from '../../db/connection/rights.ts'
import { migrate } from '../../db/migration/migrate.ts'
import type { Pool } from '../../db/sql.ts'
import { startLiveDemo } from '../../demo/live.ts'
import { hasDemoData, isEmpty, loadDemo } from '../../demo/load.ts'
import { hasNoAdministrator } from '../../domain/administrator/administrator.ts'
import { inviteFirstAdministrator } from '../../domain/administrator/invitation.ts'
import { createTokenDirectory } from '../../domain/token/directory.ts'
import { createToken } from '../../domain/token/lifecycle.ts'
import { permissionNames } from '../../domain/token/permission.ts'
import { adminPath, dashboardPath, docsPath, graphiqlPath, graphqlPath, setupPath, v1Path } from '../../http/paths.ts'
import { loggerOptions } from '../../log.ts'
import { createLogDestination } from '../../log-destination.ts'
import { requireProcessLimits } from '../../process-limits.ts'
import { makeAllSteps } from '../../projection/step.ts'
import { type Database, requireMigrated, withUnmigratedDatabase } from '../database/database.ts'
import { readDataFile, removeDataFile, writeDataFile } from '../files/data-file.ts'
import { commandLineActor } from '../terminal/actor.ts'
import { readNumber } from '../terminal/output.ts'
import { shellCommand } from '../terminal/shell-command.ts'
import { listen, requireFreePorts } from './listen.ts'
import { endAtSecondSignal, stopService, waitForSignal } from './stop.ts'
import { linkToPrimary, type PrimaryLink } from './worker.ts'
import { type Demo, type RunningService, startPrimary } from './workers.ts'

const liveNeedsDemo =
  'The option --live writes to the demo data of the embedded database alone. Start without DATABASE_URL, and with a DATA_DIR ' +
  'that is new or has the demo data.'

const readWorkers = readNumber(/^[1-9]\d?$/, 'Give a whole number from 1 to 99, such as 4.')
const readPort = readNumber(/^\d{1,5}$/, 'Give a whole number from 0 to 65535, such as 8081.')

export const serveCommand = new Command('serve')
  .description('Run the service.')
  .option('--workers <number>', 'How many processes answer requests, for example one for each core.', readWorkers, 1)
  .option('--port <number>', 'The port on which the service listens, instead of PORT.', readPort)
  .option('--live', 'Write to the demo data: some 30 sales, redemptions, consents and withdrawals a minute.', false)
  .action(async ({ workers, port, live }: { workers: number; port?: number; live: boolean }) => {
    const config = readConfig(port === undefined ? process.env : { ...process.env, PORT: String(port) }, workers)
    const primary = linkToPrimary()
    if (!primary) {
      requireProcessLimits(config, workers)
      await requireFreePorts(config)
    }
    const stopped = primary?.stopped ?? waitForSignal()
    let listens = false
    // Before the service listens, a signal may end the process immediately. An embedded server ends with the process.
    void stopped.then(() => listens || process.exit(0))
    const work = async (database: Database) => {
      if (database.embedded) removeDataFile(config.dataDir, 'origin')
      const demoSecret = database.embedded ? await prepareEmbedded(config, database) : null
      if (live && !primary && demoSecret === null) throw new Error(liveNeedsDemo)
      await requireMigrated(database)
      // The service checks this before it listens, because a later failure of the database must not end a running
      // service.
      const platform = demoSecret === null ? null : await startDemoPlatform(config, database)
      const demo = { demoToken: demoSecret, demoPlatform: platform?.origin ?? null }
      const firstSteps = primary ? null : await describeFirstAdministrator(database.pool)
      const service =
        workers > 1 && !primary
          ? await startPrimary(config, database, workers, demo)
          : await startService(config, database, primary, primary ?? demo)
      listens = true
      const stopLive = live && !primary ? startLiveDemo(database.owner) : null
      let reason = 'error'
      try {
        if (firstSteps) announce(config, database, service.origin, demoSecret, firstSteps)
        reason = await stopped
      } finally {
        if (!primary) endAtSecondSignal()
        platform?.stop()
        stopLive?.()
        await service.stop(reason)
        if (database.embedded) removeDataFile(config.dataDir, 'origin')
      }
    }
    const served = withUnmigratedDatabase(work, config, { attach: false })
    await served.finally(() => primary?.close())
  })

/**
 * Writes the error that ends `serve` to the log, where programs read its reasons. Writes nothing when the log is a
 * terminal.
 */
export function logFailedStart(error: unknown): void {
  if (process.stdout.isTTY) return
  pino(loggerOptions('fatal'), createLogDestination()).fatal({ err: error }, 'the service does not start')
}

/** Prints a text for people. Without a terminal the text goes to stderr, because each line on stdout must be JSON. */
const printForPeople = (text: string) => (process.stdout.isTTY ? console.log(text) : console.error(text))

/**
 * Prints the address of the service and the next step for the operator, and writes the address to a file for other
 * commands.
 */
function announce(
  config: Config,
  { embedded }: Database,
  origin: string,
  demoSecret: string | null,
  firstSteps: (adminOrigin: string) => string[],
): void {
  const adminOrigin = config.publicUrl ?? origin
  if (embedded) writeDataFile(config.dataDir, 'origin', adminOrigin)
  const lines = ['', `  REST       ${origin}${v1Path}`, `  GraphQL    ${origin}${graphqlPath}`]
  if (config.graphiql) lines.push(`  GraphiQL   ${origin}${graphiqlPath}`)
  lines.push(
    `  Dashboard  ${origin}${dashboardPath}`,
    `  Docs       ${origin}${docsPath}`,
    `  Admin      ${adminOrigin}${adminPath}`,
  )
  if (demoSecret !== null) {
    lines.push(
      `  Token      ${demoSecret}`,
      '',
      '  Try it:',
      '',
      `  curl -H 'Accept: application/json' -H 'Authorization: Bearer ${demoSecret}' ${origin}${v1Path}/tenants`,
    )
  }
  printForPeople([...lines, ...firstSteps(adminOrigin), '', '  Ctrl-C stops it.', ''].join('\n'))
}

/** Starts the service in this process, which then answers requests. */
async function startService(
  config: Config,
  database: Database,
  primary: PrimaryLink | null,
  { demoToken, demoPlatform }: Demo,
): Promise<RunningService> {
  // By default V8 collects the whole heap when it is a few MB larger than the live data. V8 counts buffers too, so the
  // bodies of pages caused ten collections a second. This flag sets the limit to twice the live data.
  setFlagsFromString('--heap-growing-percent=100')
  await letDriverCompile(database.pool)
  // Imported here, because loading these modules takes most of a second and other commands do not need them.
  const { startTracing } = await import('../../tracing.ts')
  startTracing()
  const { buildServer } = await import('../../server.ts')
  const app = await buildServer({
    ...database,
    config,
    log: createLogDestination(),
    role: primary,
    demoToken,
    demoPlatform,
  })
  process.on('uncaughtException', error => {
    // Without this handler, Node would print the whole error, which may quote a row or a request.
    app.log.fatal({ err: error }, 'uncaught error, the service stops')
    process.exit(1)
  })
  const listenAll = async () => {
    if (config.metricsPort !== undefined) await startMetrics(app, config, primary ? null : database)
    return listen(app, config)
  }
  const origin = await listenAll().catch(async error => {
    await app.close()
    throw error
  })
  const { owner, embedded } = database
  if (!embedded && (primary?.worker ?? 1) === 1) {
    const reasons = await findExcessRights(owner, config.platformUrl !== undefined).catch(() => [])
    if (reasons.length > 0) app.log.warn({ reasons }, 'the login has more rights than the service needs')
  }
  return { origin, stop: reason => stopService(app, config.shutdownDelay, reason) }
}

/**
 * Starts to measure this process, and serves the metrics.
 *
 * @param database null in a worker, whose metrics the primary serves
 */
async function startMetrics(app: FastifyInstance, config: Config, database: Database | null): Promise<void> {
  const { observe } = await import('../../metrics/observe.ts')
  observe(app.checkReadiness)
  if (!database) return
  const { serveMetrics } = await import('./metrics.ts')
  const { processRegistry } = await import('../../metrics/registry.ts')
  const report = (error: unknown) =>
    app.failureLog.report({ error, message: 'failed: read the metrics of the database', kind: 'job' })
  const server = await serveMetrics(config, database, () => processRegistry.metrics(), report)
  app.addHook('onClose', () => server.close())
}

/**
 * Migrates an embedded database, and loads the demo data when it is empty.
 *
 * @returns the secret of the demo token, the same at every start; null when the database has no demo data
 */
async function prepareEmbedded(config: Config, { owner, pool }: Database): Promise<string | null> {
  await migrate(owner)
  if (await isEmpty(owner)) {
    printForPeople('Loading demo data …')
    await loadDemo(owner, { scale: 1 })
    // Waits for all steps, because the records must exist when the addresses are printed.
    await makeAllSteps(pool, new AbortController().signal)
  }
  if (!(await hasDemoData(owner))) return null
  const stored = readDataFile(config.dataDir, 'demo-token')
  const valid = stored !== null && (await createTokenDirectory(pool).find(stored)).status === 'active'
  return valid ? stored : createDemoToken(config, pool)
}

/**
 * Starts the platform of the demo, which redeems vouchers of the embedded database.
 *
 * @returns the origin of the platform; null when the demo has no till, which is so with `PUBLIC_URL`, and with port 0,
 *   because the platform could not fetch the keys from a port that is not known yet
 */
async function startDemoPlatform({ publicUrl, port, redemption }: Config, { address }: Database) {
  if (typeof address === 'string' || publicUrl !== undefined || port === 0) return null
  const { startPlatform } = await import('#demo-platform')
  return startPlatform({ database: address, issuer: redemption.issuer, tenantId: demoTenant.tenantId })
}

/**
 * The rate limit of the demo token, in operations per minute. A dashboard view costs about 25 (R28), and a visitor
 * opens several views.
 */
const demoRate = 1200

async function createDemoToken(config: Config, pool: Pool): Promise<string> {
  const { secret } = await createToken(pool, commandLineActor(), {
    name: 'Demo',
    contact: null,
    rateLimit: config.rateLimitPerMinute < demoRate ? demoRate : null,
    permissions: [...permissionNames],
    tenants: [{ tenantId: demoTenant.tenantId, withDescendants: true }],
    expiresAt: null,
  })
  writeDataFile(config.dataDir, 'demo-token', secret)
  return secret
}

/**
 * Describes how to create the first administrator: with a new one-time link on a terminal, and otherwise with a
 * command, because a stored log must not contain the link.
 *
 * @returns a function that returns the lines for the origin of the administration; no lines when an administrator
 *   exists
 */
async function describeFirstAdministrator(pool: Pool): Promise<(adminOrigin: string) => string[]> {
  if (process.stdout.isTTY) {
    const secret = await inviteFirstAdministrator(pool, commandLineActor())
    if (secret === null) return () => []
    return adminOrigin => [
      '',
      '  Create the first administrator with this link, which works once, within 24 hours:',
      '',
      `  ${adminOrigin}${setupPath}/${secret}`,
    ]
  }
  if (!(await hasNoAdministrator(pool))) return () => []
  return () => [
    '',
    '  No administrator exists yet. Run this command here: it prints a link to create the first one.',
    '',
    `  ${shellCommand('admin create --email you@example.com')}`,
  ]
}
