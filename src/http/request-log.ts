import { STATUS_CODES } from 'node:http'
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Config } from '../config/config.ts'
import { parseIdentifier } from '../domain/value/identifier.ts'
import { safeName } from '../log.ts'
import { clientAddress } from './client-address.ts'
import { graphqlPath } from './paths.ts'
import { errorsOf } from './request-count.ts'

/**
 * The maximum number of lines for refused requests per second, so that a flood does not fill the disk. Further refused
 * requests are only counted.
 */
const maxRefused = 50

/** The maximum number of errors of one request in its line: a GraphQL response may have thousands. */
const maxErrors = 5

/**
 * The routes of health checks. Their requests are logged at the level `debug`, because they are frequent and come from
 * no caller.
 */
const probes = new Set<string | undefined>(['/livez', '/readyz'])

/**
 * Writes the line of a request that Fastify has not seen, because the request is not valid HTTP. `address` is the
 * address of the connection, even behind a trusted proxy, and `code` is the error code of Node's parser.
 */
export type LogUnrouted = (request: {
  reqId: string
  status: number
  address: string | undefined
  code: string
}) => void

/**
 * Writes a line for each request when its response has been sent, or its client has closed the connection: id, method,
 * route, operation, status, duration, token, tenant, address, quota units, and the errors of a refused one. A line
 * contains no text of the caller, except ids, and the name of a GraphQL operation if it looks like a name.
 *
 * Must be registered before the transports.
 */
export function registerRequestLog(app: FastifyInstance, { refused, share }: Config['logRequests']): LogUnrouted {
  app.decorateRequest('graphqlOperation')
  if (!refused || !['trace', 'debug', 'info'].includes(app.log.level)) return () => {}
  const limiter = createLimiter(app.log, share < 1 ? maxRefused : Number.POSITIVE_INFINITY)
  app.addHook('onClose', async () => limiter.close())

  function write(request: FastifyRequest, reply: FastifyReply, isAborted: boolean): void {
    const { statusCode } = reply
    const isRefused = statusCode >= 400 || request.errors !== undefined || isAborted
    const isSampled = share === 1 || (share > 0 && Math.random() < share)
    if (!isRefused && !isSampled) return
    if (isRefused && !isSampled) {
      // A request that fails because of an outage has no line of its own, because the lines about the outage count it
      // (`failure-log.ts`).
      if (request.errors?.every(({ code }) => code === 'UNAVAILABLE')) return
      if (!limiter.admits(statusCode)) return
    }
    const { url } = request.routeOptions
    app.log[probes.has(url) ? 'debug' : 'info'](describe(request, reply, url, isAborted), 'request')
  }

  app.addHook('onRequest', (request, reply, done) => {
    let isSent = false
    reply.raw.on('finish', () => {
      isSent = true
    })
    // The hook `onResponse` is not used: Fastify does not call it when the client has closed the connection.
    const end = () => write(request, reply, !isSent)
    reply.raw.on('close', () => (request.inContext ? request.inContext(end) : end()))
    done()
  })
  return ({ code, ...line }) => {
    if (!limiter.admits(line.status)) return
    app.log.info({ ...line, errors: [{ code, reason: STATUS_CODES[line.status] }] }, 'request')
  }
}

/** @returns the fields of a line. A field that does not apply is undefined, so that it is not written */
function describe(request: FastifyRequest, reply: FastifyReply, route: string | undefined, isAborted: boolean) {
  const { bearer, caller, session, method, routeOptions, graphqlOperation } = request
  const errors = errorsOf(request).slice(0, maxErrors)
  return {
    reqId: request.id,
    method,
    route,
    operation: route === graphqlPath ? safeName(graphqlOperation) : routeOptions.config.operation,
    // When no headers were sent, the client has no answer, so the request has no status.
    status: reply.raw.headersSent ? reply.statusCode : undefined,
    aborted: isAborted || undefined,
    durationMs: Math.round(reply.elapsedTime * 1000) / 1000,
    tokenId: bearer && bearer.status !== 'unknown' ? bearer.token.id : undefined,
    tenantId: tenantOf(request),
    administratorId: session?.administrator?.id,
    address: caller?.address ?? clientAddress(request),
    // A request with an active token counts once, with any result (R28).
    operations: bearer?.status === 'active' ? Math.max(1, caller?.cost ?? 1) : undefined,
    errors: errors.length > 0 ? errors : undefined,
  }
}

/** @returns the id of the tenant in the path of the request, or of the first tenant that its document names */
function tenantOf({ caller, params }: FastifyRequest): number | undefined {
  if (caller?.tenantId !== undefined) return caller.tenantId
  const { tenant } = typeof params === 'object' && params !== null && 'tenant' in params ? params : {}
  return (typeof tenant === 'string' && parseIdentifier(tenant)) || undefined
}

/** Limits the number of lines per second, and writes a line with the number of dropped lines. */
function createLimiter(log: FastifyBaseLogger, limit: number) {
  let admitted = 0
  let omitted = 0
  let statuses: Record<string, number> = {}
  let timer: NodeJS.Timeout | null = null

  function close(): void {
    if (timer) clearTimeout(timer)
    timer = null
    admitted = 0
    if (omitted === 0) return
    log.info({ omitted, statuses }, 'further requests were refused in the last second')
    omitted = 0
    statuses = {}
  }

  return {
    /** @returns true when one more line may be written in this second */
    admits(status: number): boolean {
      timer ??= setTimeout(close, 1000).unref()
      if (admitted++ < limit) return true
      omitted++
      statuses[status] = (statuses[status] ?? 0) + 1
      return false
    },
    close,
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The name of the operation that a GraphQL request runs, from its validated document. */
    graphqlOperation?: string | undefined
  }
}
