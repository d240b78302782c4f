/** The HTTP server of the service, without its routes: its limits, its connections, its log and its errors. */
import { maxHeaderSize } from 'node:http'
import Fastify, { type FastifyServerOptions, LogController } from 'fastify'
import type { Config } from '../config/config.ts'
import { createFailureLog } from '../failure-log.ts'
import { type LogDestination, loggerOptions } from '../log.ts'
import { traceFields } from '../tracing.ts'
import { trustedProxies } from './client-address.ts'
import { sendClientError } from './client-error.ts'
import { enforceDeadline } from './deadline.ts'
import { closeWhileDraining, drain, notDraining } from './draining.ts'
import { sendError, toGatewayError, toMessageBody } from './errors.ts'
import { createRefusalHold } from './hold-refusals.ts'
import { closeUnfinishedRequests } from './lingering-close.ts'
import { registerNotFound } from './not-found.ts'
import { sendNotFoundPage, wantsPage } from './not-found-page.tsx'
import { publishRequests } from './publish-requests.ts'
import { refuseInvalidHttp } from './refuse-invalid-http.ts'
import { nameResponses, requestId } from './request-id.ts'
import { registerRequestLog } from './request-log.ts'
import type { Site } from './site.ts'
import { closeSilentConnections, connectionLimits, requestDeadlines } from './timeouts.ts'

/**
 * Creates the server. It does not listen yet.
 *
 * @param log the destination of log lines; default: standard output
 * @returns the server, and the parts that the server of the health checks shares with it
 */
export function createServer(config: Config, site: Site, log: LogDestination | undefined) {
  const requests: FastifyServerOptions = {
    logController: new LogController({ disableRequestLogging: true }),
    // A logger for each request takes 3 % of the time of a record, so log calls pass the id of the request themselves.
    childLoggerFactory: logger => logger,
    genReqId: request => requestId(request.headers['x-request-id']),
    trustProxy: config.trustProxy.length > 0 ? trustedProxies(config.trustProxy) : false,
    rewriteUrl: ({ url = '/' }) => toRoutableTarget(url),
    // A path parameter may be as long as the request line allows: the routes decide what exists (R7).
    routerOptions: { maxParamLength: maxHeaderSize },
    clientErrorHandler: (error, socket) => sendClientError(error, socket, logUnrouted),
    ...connectionLimits,
    return503OnClosing: false,
  }
  const app = Fastify({ ...requests, logger: { ...loggerOptions(config.logLevel, log), mixin: traceFields } })
  const failureLog = createFailureLog(app.log)
  app.decorate('failureLog', failureLog)
  // `onClose` hooks run in reverse order, so this one runs after the background jobs.
  app.addHook('onClose', async () => failureLog.close())
  publishRequests(app)
  const logUnrouted = registerRequestLog(app, config.logRequests)

  // By default Node silently drops header lines beyond about 1,000. The total size of headers has its own limit.
  app.server.maxHeadersCount = 0
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.decorateRequest('caller')
  closeSilentConnections(app)
  nameResponses(app)
  refuseInvalidHttp(app)
  enforceDeadline(app, requestDeadlines)
  closeUnfinishedRequests(app)
  const draining = notDraining()
  app.decorate('drain', delay => drain(app, draining, delay))
  app.decorate(
    'holdRefusal',
    createRefusalHold(() => draining.active),
  )
  closeWhileDraining(app, draining)
  app.setErrorHandler((thrown, request, reply) => {
    const error = toGatewayError(thrown)
    if (error.code === 'NOT_FOUND' && wantsPage(request)) return sendNotFoundPage(reply, site)
    return sendError(request, reply, error, toMessageBody)
  })
  app.register(async scope => registerNotFound(scope))
  return { app, requests, draining }
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Lets requests and connections end; `delay` in milliseconds is as for `drain`. */
    drain(delay: number): Promise<void>
  }
}

/**
 * Returns the request target (RFC 9112 §3.2) in a form that the router can always parse, so that the token is checked
 * before the path (R1, R8). In a path with invalid percent-encoding each `%` is taken literally.
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
