import { randomBytes } from 'node:crypto'
import { maxHeaderSize } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyServerOptions, LogController } from 'fastify'
import { registerAdmin } from './admin/index.ts'
import { registerBackgroundJobs } from './background-jobs.ts'
import type { Config } from './config.ts'
import { registerDashboard } from './dashboard/index.tsx'
import type { Pool } from './db/connect.ts'
import { createTriggerWatch } from './db/triggers.ts'
import { demoTenant } from './demo/demo-tenant.ts'
import { registerDocs } from './docs/index.tsx'
import { ExpensiveRequests } from './domain/rate/expensive-requests.ts'
import { createCursorCipher } from './domain/record/cursor.ts'
import { getOrCreateSecret } from './domain/setting.ts'
import { createClockWatch } from './domain/sync/clock.ts'
import { createWatermark } from './domain/sync/watermark.ts'
import { createTokenDirectory } from './domain/token/directory.ts'
import { createRequestCounter } from './domain/token/request-count.ts'
import { createTenantScope } from './domain/token/scope.ts'
import { registerExports } from './export/register.ts'
import { createFailureLog } from './failure-log.ts'
import type { Gateway } from './graphql/context.ts'
import { registerGraphiql } from './graphql-http/graphiql.tsx'
import { readTrustedDocuments } from './graphql-http/read-trusted-documents.ts'
import { registerGraphql } from './graphql-http/route.ts'
import { limitRequests } from './http/admission.ts'
import { registerSharedAssets } from './http/assets.ts'
import { createAuthenticate } from './http/caller.ts'
import { sendClientError } from './http/client-error.ts'
import { compressResponses } from './http/compression.ts'
import { enforceDeadline } from './http/deadline.ts'
import { registerDemoToken } from './http/demo-token.ts'
import { closeWhileDraining, drain, notDraining } from './http/draining.ts'
import { sendError, toGatewayError, toMessageBody } from './http/errors.ts'
import { buildHealthServer, createReadiness, registerHealth, type WorkerCount } from './http/health.ts'
import { createRefusalHold } from './http/hold-refusals.ts'
import { closeUnfinishedRequests } from './http/lingering-close.ts'
import { registerNotFound } from './http/not-found.ts'
import { handleInOrder } from './http/pipelining.ts'
import { registerRequestCounts } from './http/request-count.ts'
import { nameResponses, requestId } from './http/request-id.ts'
import { registerRequestLog } from './http/request-log.ts'
import { toRoutableTarget } from './http/request-target.ts'
import { describeSite } from './http/site.ts'
import { closeSilentConnections, connectionLimits, requestDeadlines } from './http/timeouts.ts'
import { registerLandingPage } from './landing/landing-page.tsx'
import { type LogDestination, loggerOptions } from './log.ts'
import { openRateCounter } from './rate-counter.ts'
import { registerOpenApi } from './rest/openapi.ts'
import { registerRest } from './rest/register.ts'
import { v1 } from './rest/v1/routes.ts'

/** The role of a worker of `serve --workers`. */
export interface WorkerRole {
  /** Its number, from 1. */
  worker: number
  /** Returns how many workers listen; null: not known yet. */
  workers(): WorkerCount | null
}

/**
 * Builds the service with all its transports, in visible order. It does not listen yet.
 *
 * @param pool connections to a migrated database; the caller ends them after the service is closed
 * @param log the destination of log lines; default: standard output
 * @param role in a worker of `serve --workers`; default: this process is the whole service
 * @param connections one for the health checks and one for the rate; default: `pool`
 * @param demoToken the secret of the demo's token, with which its pages sign in; default: this is no demo
 * @returns the service; the caller closes it
 */
export async function buildServer(
  config: Config,
  pool: Pool,
  log?: LogDestination,
  role?: WorkerRole | null,
  { health: healthPool = pool, rates: ratePool = pool }: { health?: Pool; rates?: Pool } = {},
  demoToken: string | null = null,
): Promise<FastifyInstance> {
  const requests: FastifyServerOptions = {
    logController: new LogController({ disableRequestLogging: true }),
    // A logger for each request takes 3 % of the time of a record: who writes a line of a request names its id.
    childLoggerFactory: logger => logger,
    genReqId: request => requestId(request.headers['x-request-id']),
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    rewriteUrl: ({ url = '/' }) => toRoutableTarget(url),
    // A path parameter may be as long as the request line allows: the routes decide what exists (R7).
    routerOptions: { maxParamLength: maxHeaderSize },
    clientErrorHandler: (error, socket) => sendClientError(error, socket, requestLog),
    ...connectionLimits,
    return503OnClosing: false,
  }
  const app = Fastify({ ...requests, logger: loggerOptions(config.logLevel, log) })
  const failureLog = createFailureLog(app.log)
  app.decorate('failureLog', failureLog)
  // Hooks of `onClose` run last to first: this one after the background jobs.
  app.addHook('onClose', async () => failureLog.close())
  const requestLog = registerRequestLog(app, config.logRequests)
  const tokens = createTokenDirectory(pool)
  const requestCounter = createRequestCounter(pool.background)
  const cursorKey = config.cursorKey ?? (await getOrCreateSecret(pool, 'cursor_key', randomBytes(32)))
  const rates = await openRateCounter(config, pool, ratePool, app.log)
  app.addHook('onClose', rates.close)
  const gateway: Gateway = {
    pool,
    cursors: createCursorCipher(cursorKey),
    clock: createClockWatch(pool, milliseconds =>
      app.log.error(
        { milliseconds: milliseconds ?? undefined },
        'the clock of the database was set back: lists answer 503 until it has caught up, and all clients must make a full pass',
      ),
    ),
    watermark: createWatermark(pool),
    scope: createTenantScope(pool),
    rate: { limit: config.rateLimitPerMinute, counter: rates.counter },
    expensiveRequests: new ExpensiveRequests(),
    redemptionTokenTtl: config.redemptionTokenTtl,
  }
  const triggers = createTriggerWatch(healthPool, reasons => {
    if (reasons.length === 0) app.log.info('the triggers of the database are correct again')
    else
      app.log.error(
        { reasons },
        'clients may miss changes: repair the triggers, then run: select gateway.require_full_pass();',
      )
  })
  const documents = readTrustedDocuments(config.graphqlDocumentsPath, config.graphqlDocuments === 'any')
  const authenticate = createAuthenticate(tokens, gateway.rate)

  // By default Node silently drops header lines beyond about 1,000. The total size of headers has its own limit.
  app.server.maxHeadersCount = 0
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.decorateRequest('caller')
  closeSilentConnections(app)
  nameResponses(app)
  enforceDeadline(app, requestDeadlines)
  closeUnfinishedRequests(app)
  const draining = notDraining()
  app.decorate(
    'holdRefusal',
    createRefusalHold(() => draining.active),
  )
  closeWhileDraining(app, draining)
  app.setErrorHandler((error, request, reply) => sendError(request, reply, toGatewayError(error), toMessageBody))
  app.register(async scope => registerNotFound(scope))

  await registerBackgroundJobs(app, pool, {
    tokens,
    clock: gateway.clock,
    requestCounter,
    triggers,
    isFirst: (role?.worker ?? 1) === 1,
  })
  registerRequestCounts(app, requestCounter)
  const checkReadiness = createReadiness(app, healthPool, triggers, role?.workers)
  const health = config.healthPort === undefined ? null : buildHealthServer(app, requests, checkReadiness, draining)
  if (!health) registerHealth(app, checkReadiness, draining)
  app.decorate('health', health)
  app.decorate('drain', delay => drain(app, draining, delay))
  app.addHook('onClose', () => health?.close())
  app.register(async transports => {
    const whenIdle = limitRequests(transports, config.maxRequests)
    // After all other listeners for requests.
    handleInOrder(app.server)
    if (config.compression) compressResponses(transports)
    registerRest(transports, gateway, authenticate, v1)
    registerOpenApi(transports, authenticate)
    registerGraphql(transports, gateway, authenticate, documents)
    const { exportsPerHour: startsPerHour, compression } = config
    registerExports(transports, gateway, authenticate, {
      ...{ tokens, startsPerHour, compression },
      isStopping: () => draining.active,
      whenIdle,
    })
  })
  registerSharedAssets(app)
  // With PUBLIC_URL, others reach the demo, too, by a proxy that may hide it.
  const shownToken = config.publicUrl === undefined ? demoToken : null
  const site = describeSite(config, shownToken !== null)
  if (shownToken !== null) registerDemoToken(app, shownToken)
  registerLandingPage(app, config, site)
  registerDocs(app, config, site)
  registerDashboard(app, site)
  if (config.graphiql) {
    const voucher = site.isDemo ? demoTenant : null
    registerGraphiql(app, { site, voucher, trustedOnly: !documents.admitsOthers })
  }
  registerAdmin(app, { sql: pool, config, site })
  return app
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The server of the health checks, when they have a port of their own (HEALTH_PORT). */
    health: FastifyInstance | null
    /** Lets requests and connections end; `delay` in milliseconds is as for `drain`. */
    drain(delay: number): Promise<void>
  }
}
