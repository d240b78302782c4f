import type { FastifyInstance } from 'fastify'
import { demoTenant } from '#demo'
import { registerAdmin } from './admin/index.ts'
import { registerBackgroundJobs } from './background-jobs.ts'
import type { Config } from './config/config.ts'
import { createServer } from './create-server.ts'
import { registerDashboard } from './dashboard/index.tsx'
import { isOutage } from './db/connection/outage.ts'
import type { Pool } from './db/sql.ts'
import type { StandbyPools } from './db/standby/standby.ts'
import { registerDocs } from './docs/index.tsx'
import { type CheckReadiness, createReadiness, registerHealth, type WorkerRole } from './doctor/health.ts'
import { createTokenDirectory } from './domain/token/directory.ts'
import { createRequestCounter } from './domain/token/request-count.ts'
import { registerExports } from './export/register.ts'
import { registerGraphiql } from './graphql-http/graphiql.tsx'
import { readTrustedDocuments } from './graphql-http/read-trusted-documents.ts'
import { registerGraphql } from './graphql-http/route.ts'
import { createAuthenticate } from './http/caller.ts'
import { compressResponses } from './http/compression.ts'
import { registerKeySet } from './http/key-set.ts'
import { limitRequests } from './http/limits/admission.ts'
import { handleInOrder } from './http/limits/pipelining.ts'
import { registerRequestCounts } from './http/request-count.ts'
import { registerLandingPage } from './landing/landing-page.tsx'
import type { LogDestination } from './log.ts'
import { openGateway } from './open-gateway.ts'
import { registerAssets } from './pages/assets.ts'
import { registerDemoToken } from './pages/demo-token.ts'
import { registerSecurityTxt } from './pages/security-txt.ts'
import { describeSite } from './pages/site.ts'
import { registerTill } from './pages/till.tsx'
import { registerOpenApi } from './rest/openapi.ts'
import { registerRest } from './rest/register.ts'
import { v1 } from './rest/v1/routes.ts'
import { createPlatformWatch } from './staging/watch.ts'
import { openWebhooks } from './webhook/open-webhooks.ts'

interface ServerOptions {
  config: Config
  /** Connections to a migrated database; the caller ends them after the service is closed. */
  pool: Pool
  /** The connection for the health checks; default: `pool`. */
  health?: Pool
  /** The connection for counting rates; default: `pool`. */
  rates?: Pool
  /** The connections to each standby; default: no standby. */
  standbys?: readonly StandbyPools[]
  /** Connections of the owner of staged tables; needed only with a platform on another server. */
  owner?: Pool
  /** The destination of log lines; default: standard output. */
  log?: LogDestination | undefined
  /** The role of this process in `serve --workers`; default: null, for a process that is the whole service. */
  role?: WorkerRole | null
  /** The secret of the demo's token, with which its pages sign in; default: this is no demo. */
  demoToken?: string | null
  /** The origin of the demo's platform, which redeems; default: the demo has no till. */
  demoPlatform?: string | null
}

/**
 * Builds the service with all its transports, in the order of this function. The service does not listen yet.
 *
 * @returns the service; the caller closes it
 */
export async function buildServer(options: ServerOptions): Promise<FastifyInstance> {
  const { config, pool, health: healthPool = pool, rates = pool, standbys = [], owner, log } = options
  const { role = null, demoToken = null, demoPlatform = null } = options
  // With PUBLIC_URL the demo has no such sign-in: a proxy may let other machines reach it, and may hide their
  // addresses.
  const shownToken = config.publicUrl === undefined ? demoToken : null
  const till = shownToken === null ? null : demoPlatform
  const site = describeSite(config, shownToken !== null, till !== null)
  const { app, stopping, createProbeServer } = createServer(config, site, log)
  const isStopping = () => stopping.aborted
  const { gateway, signingKeys, standbyStates, close } = await openGateway(config, { pool, rates, standbys }, app)
  app.addHook('onClose', close)
  const tokens = createTokenDirectory(pool)
  const requestCounter = createRequestCounter(pool.background)
  const webhooks = await openWebhooks(config, pool, gateway.feed, error =>
    app.failureLog.report({ error, message: 'failed: send webhooks', kind: isOutage(error) ? 'outage' : 'job' }),
  )
  app.addHook('onClose', async () => {
    // Closed first, because the sender may wait for the feed.
    gateway.feed.close()
    await webhooks.close()
  })
  const { platformUrl } = config
  const onCopy = (reason: string) => app.log.warn({ reason }, 'the tables of the platform are copied again')
  const platform = platformUrl && owner ? createPlatformWatch(owner, { platformUrl, onCopy }) : null
  app.addHook('onClose', () => platform?.close())
  const documents = readTrustedDocuments(config.graphqlDocumentsPath, config.graphqlDocuments === 'any')
  const authenticate = createAuthenticate(tokens, gateway.rate)

  const checkReadiness = createReadiness(app, { own: healthPool, pool }, standbyStates, role?.workers)
  await registerBackgroundJobs(app, pool, {
    tokens,
    requestCounter,
    checkReadiness,
    followPlatform: async () => platform?.follow(),
    readSigningKeys: signingKeys.refresh,
    sendWebhooks: webhooks.sender.hold,
    isFirst: (role?.worker ?? 1) === 1,
  })
  registerRequestCounts(app, requestCounter)
  const health = config.healthPort === undefined ? null : createProbeServer()
  registerHealth(health ?? app, checkReadiness, isStopping)
  app.decorate('health', health)
  app.decorate('checkReadiness', checkReadiness)
  app.addHook('onClose', () => health?.close())
  app.register(async transports => {
    const whenIdle = limitRequests(transports, config.maxRequests)
    // This call must come after all other listeners for requests.
    handleInOrder(app.server)
    if (config.compression) compressResponses(transports)
    registerRest(transports, gateway, authenticate, v1)
    registerOpenApi(transports, authenticate)
    registerGraphql(transports, gateway, authenticate, { documents, stopping })
    const { exportsPerHour: startsPerHour, compression } = config
    registerExports(transports, gateway, authenticate, {
      ...{ startsPerHour, compression, isStopping, whenIdle },
    })
  })
  registerAssets(app)
  registerSecurityTxt(app, config)
  registerKeySet(app, signingKeys.published)
  if (shownToken !== null) registerDemoToken(app, shownToken)
  if (till !== null) registerTill(app, site, till)
  registerLandingPage(app, config, site)
  registerDocs(app, config, site)
  registerDashboard(app, site)
  if (config.graphiql) {
    const voucher = site.isDemo ? demoTenant : null
    registerGraphiql(app, { site, voucher, trustedOnly: !documents.admitsOthers })
  }
  registerAdmin(app, pool, config, site, webhooks)
  return app
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The server for health checks on their own port; null without HEALTH_PORT. */
    health: FastifyInstance | null
    checkReadiness: CheckReadiness
  }
}
