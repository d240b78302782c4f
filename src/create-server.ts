/**
 * Creates the HTTP servers of the service, without routes: sets the limits, the handling of connections, the log and
 * the error answers.
 */
import { randomUUID } from 'node:crypto'
import { maxHeaderSize } from 'node:http'
import Fastify, { type FastifyInstance, type FastifyServerOptions, LogController } from 'fastify'
import type { Config } from './config/config.ts'
import { createFailureLog } from './failure-log.ts'
import { createProxyTest } from './http/client-address.ts'
import { sendError, toGatewayError, toMessageBody } from './http/errors.ts'
import { limitConnections } from './http/limits/connection-limit.ts'
import { enforceDeadline } from './http/limits/deadline.ts'
import { closeWhileDraining, createDraining, drain } from './http/limits/draining.ts'
import { createRefusalHold } from './http/limits/hold-refusals.ts'
import { refuseInvalidHttp, sendClientError } from './http/limits/invalid-http.ts'
import { closeUnfinishedRequests } from './http/limits/lingering-close.ts'
import { handleInOrder } from './http/limits/pipelining.ts'
import { closeSilentConnections, connectionLimits, requestDeadlines } from './http/limits/timeouts.ts'
import { publishRequests } from './http/publish-requests.ts'
import { registerRequestLog } from './http/request-log.ts'
import { registerNotFound } from './http/unknown-paths.ts'
import { type LogDestination, loggerOptions } from './log.ts'
import { sendNotFoundPage, wantsPage } from './pages/not-found.tsx'
import type { Site } from './pages/site.ts'
import { connectionLimit } from './process-limits.ts'
import { traceFields } from './tracing.ts'

/**
 * Creates the server. The server does not listen yet.
 *
 * @param log the destination of log lines; default: standard output
 * @returns the server, the signal that it is about to stop, and a function that creates another server for health
 *   checks
 */
export function createServer(config: Config, site: Site, log: LogDestination | undefined) {
  const options: FastifyServerOptions = {
    logController: new LogController({ disableRequestLogging: true }),
    // Each log call passes the id of the request, because a logger per request would take 3 % of the time of a request
    // for one record.
    childLoggerFactory: logger => logger,
    genReqId: ({ headers }) => requestId(headers['x-request-id']),
    trustProxy: config.trustProxy.length > 0 ? createProxyTest(config.trustProxy) : false,
    rewriteUrl: ({ url = '/' }) => toRoutableTarget(url),
    // A path parameter may be as long as the request line allows, because the routes decide whether a record exists
    // (R7).
    routerOptions: { maxParamLength: maxHeaderSize },
    clientErrorHandler: (error, socket) => sendClientError(error, socket, logUnrouted),
    ...connectionLimits,
    return503OnClosing: false,
  }
  const app = Fastify({ ...options, logger: { ...loggerOptions(config.logLevel, log), mixin: traceFields } })
  const failureLog = createFailureLog(app.log)
  app.decorate('failureLog', failureLog)
  // `onClose` hooks run in reverse order, so this one runs after the background jobs.
  app.addHook('onClose', async () => failureLog.close())
  publishRequests(app)
  const logUnrouted = registerRequestLog(app, config.logRequests)

  // No limit, because Node by default silently drops header lines after about the first 1,000. The total size of the
  // headers has its own limit.
  app.server.maxHeadersCount = 0
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.decorateRequest('caller')
  enforceDeadline(app, requestDeadlines)
  closeUnfinishedRequests(app)
  const draining = createDraining()
  const stopping = draining.begin.signal
  const handleConnections = (server: FastifyInstance) => {
    closeSilentConnections(server)
    server.addHook('onRequest', (request, reply, done) => {
      // The headers of every response (R17).
      reply.header('X-Request-Id', request.id).header('Cache-Control', 'private, no-store')
      done()
    })
    refuseInvalidHttp(server)
    closeWhileDraining(server, draining)
    limitConnections(server, draining.sockets, connectionLimit(config.databasePool))
  }
  handleConnections(app)
  app.decorate('drain', delay => drain(app, draining, delay))
  app.decorate(
    'holdRefusal',
    createRefusalHold(() => stopping.aborted),
  )
  app.setErrorHandler((thrown, request, reply) => {
    const error = toGatewayError(thrown)
    if (error.code === 'NOT_FOUND' && wantsPage(request)) return sendNotFoundPage(reply, site)
    return sendError(request, reply, error, toMessageBody)
  })
  app.register(async scope => registerNotFound(scope))

  const createProbeServer = (): FastifyInstance => {
    // A stop closes all connections at once, so that a probe that sends nothing, or half a request, does not delay it.
    const server = Fastify({ ...options, loggerInstance: app.log, forceCloseConnections: true })
    server.decorate('failureLog', failureLog)
    handleConnections(server)
    server.setErrorHandler(app.errorHandler)
    registerNotFound(server)
    handleInOrder(server.server)
    return server
  }
  return { app, stopping, createProbeServer }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Lets requests and connections end. @param delay as for `drain`, in milliseconds */
    drain(delay: number): Promise<void>
  }
}

/** Returns the header `X-Request-Id` of a request, or a new UUID when this header is missing or invalid (R17). */
const requestId = (given: string | string[] | undefined): string =>
  typeof given === 'string' && /^[A-Za-z0-9._-]{1,128}$/.test(given) ? given : randomUUID()

/**
 * Returns the request target (RFC 9112 §3.2) in a form that the router can always parse, so that the token is checked
 * before the path (R1, R8). In a path with invalid percent-encoding, each `%` stands for the character `%`.
 *
 * @param url the target in the request line: a path, an absolute URL, or any other text
 */
function toRoutableTarget(url: string): string {
  if (url.startsWith('/') && !url.includes('%')) return url
  const target = url.replace(/^(https?:\/\/[^/?#]*)?\/?/i, '/')
  const [path = ''] = target.split(/[?#]/, 1)
  try {
    decodeURI(path)
    return target
  } catch {
    return path.replaceAll('%', '%25') + target.slice(path.length)
  }
}
