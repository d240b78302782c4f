import { randomBytes } from 'node:crypto'
import { maxHeaderSize } from 'node:http'
import Fastify, { type FastifyInstance, LogController } from 'fastify'
import { registerAdmin } from './admin/index.ts'
import { registerBackgroundJobs } from './background-jobs.ts'
import type { Config } from './config.ts'
import type { Pool } from './db/connect.ts'
import { createTriggerWatch } from './db/triggers.ts'
import { createClockWatch } from './domain/clock.ts'
import { createCursorCipher } from './domain/cursor.ts'
import { createMemoryRateCounter } from './domain/rate.ts'
import { createRequestCounter } from './domain/request-count.ts'
import { createTenantScope } from './domain/scope.ts'
import { getOrCreateSecret } from './domain/setting.ts'
import { createTokenDirectory } from './domain/token-directory.ts'
import { createWatermark } from './domain/watermark.ts'
import type { Gateway } from './graphql/context.ts'
import { registerGraphiql } from './graphql-http/graphiql.tsx'
import { registerGraphql } from './graphql-http/route.ts'
import { registerSharedAssets } from './http/assets.ts'
import { createAuthenticate } from './http/caller.ts'
import { sendClientError } from './http/client-error.ts'
import { compressResponses } from './http/compression.ts'
import { enforceDeadline } from './http/deadline.ts'
import { sendError, toGatewayError, toMessageBody } from './http/errors.ts'
import { registerHealth } from './http/health.ts'
import { closeUnfinishedRequests } from './http/lingering-close.ts'
import { registerNotFound } from './http/not-found.ts'
import { registerRequestCounts } from './http/request-count.ts'
import { requestId } from './http/request-id.ts'
import { toRoutableTarget } from './http/request-target.ts'
import { registerLandingPage } from './landing/landing-page.tsx'
import { type LogDestination, loggerOptions } from './log.ts'
import { registerRest } from './rest/register.ts'
import { v1 } from './rest/v1/routes.ts'

/** How long a request may take, including the arrival of its body, in milliseconds. */
const deadline = 15_000

/**
 * Builds the service with all its transports, in visible order. It does not listen yet.
 *
 * @param pool connections to a migrated database; the caller ends them after the service is closed
 * @param log the destination of log lines; default: standard output
 * @returns the service; the caller closes it
 */
export async function buildServer(config: Config, pool: Pool, log?: LogDestination): Promise<FastifyInstance> {
  const app = Fastify({
    logger: loggerOptions(config.logLevel, log),
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: request => requestId(request.headers['x-request-id']),
    trustProxy: config.trustProxy.length > 0 ? config.trustProxy : false,
    rewriteUrl: ({ url = '/' }) => toRoutableTarget(url),
    // A path parameter may be as long as the request line allows: the routes decide what exists (R7).
    routerOptions: { maxParamLength: maxHeaderSize },
    clientErrorHandler: sendClientError,
    // Error responses of Node and Fastify lack our headers (R17), so every valid HTTP request reaches the routes.
    http: { requireHostHeader: false },
    return503OnClosing: false,
  })
  const tokens = createTokenDirectory(pool)
  const requestCounter = createRequestCounter(pool)
  const gateway: Gateway = {
    sql: pool,
    cursors: createCursorCipher(config.cursorKey ?? (await getOrCreateSecret(pool, 'cursor_key', randomBytes(32)))),
    clock: createClockWatch(pool, milliseconds =>
      app.log.error(
        { milliseconds },
        'the clock of the database was set back: lists answer 503 until it has caught up, and all clients must make a full pass',
      ),
    ),
    watermark: createWatermark(pool),
    scope: createTenantScope(pool),
    rate: { limit: config.rateLimitPerMinute, counter: createMemoryRateCounter() },
    redemptionTokenTtl: config.redemptionTokenTtl,
  }
  const triggers = createTriggerWatch(pool, reasons => {
    if (reasons.length === 0) app.log.info('the triggers of the database are correct again')
    else
      app.log.error(
        { reasons },
        'clients may miss changes: repair the triggers, then run: select gateway.require_full_pass();',
      )
  })
  const authenticate = createAuthenticate(tokens, gateway.rate)

  // By default Node silently drops header lines beyond about 1,000. The total size of headers has its own limit.
  app.server.maxHeadersCount = 0
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.decorateRequest('caller')
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('X-Request-Id', request.id).header('Cache-Control', 'private, no-store')
    done()
  })
  enforceDeadline(app, deadline)
  closeUnfinishedRequests(app)
  app.setErrorHandler((error, request, reply) => sendError(request, reply, toGatewayError(error), toMessageBody))
  app.register(async scope => registerNotFound(scope))

  await registerBackgroundJobs(app, pool, { tokens, clock: gateway.clock, requestCounter, triggers })
  registerRequestCounts(app, requestCounter)
  registerHealth(app, pool, triggers)
  app.register(async transports => {
    if (config.compression) compressResponses(transports)
    registerRest(transports, gateway, authenticate, v1)
    registerGraphql(transports, gateway, authenticate)
  })
  registerSharedAssets(app)
  registerLandingPage(app, config)
  if (config.graphiql) registerGraphiql(app)
  registerAdmin(app, { sql: pool, config })
  return app
}
