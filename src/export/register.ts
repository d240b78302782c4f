/**
 * Serves the bulk exports. Registers the bulk exports, each a whole list in one response. They are not a part of v1,
 * but have its records, errors and cursors.
 */

import { setImmediate as nextEvents } from 'node:timers/promises'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type FieldErrors, GatewayError, unauthenticated } from '../domain/errors.ts'
import type { ListIdentity } from '../domain/paging/cursor.ts'
import { type PageWindow, readWindow } from '../domain/paging/page.ts'
import { Semaphore } from '../domain/rate/semaphore.ts'
import { createExportLimits } from '../domain/record/export-limits.ts'
import { readServerTime } from '../domain/sync/server-time.ts'
import { requireIdentifier } from '../domain/value/identifier.ts'
import { createContext, type Gateway } from '../graphql/context.ts'
import { Loaders } from '../graphql/loaders.ts'
import { requireAccess } from '../graphql/policy.ts'
import { refuseOtherMethods, registerAuthenticated } from '../http/authenticated.ts'
import type { Authenticate } from '../http/caller.ts'
import { spreadRetryAfter } from '../http/errors.ts'
import { requireLineHeaders } from '../http/headers.ts'
import { exportPath } from '../http/paths.ts'
import { queryParameter } from '../http/query-parameter.ts'
import { exportLines } from './lines.ts'
import { type BulkExport, bulkExports } from './routes.ts'
import { ExportStream } from './stream.ts'

/**
 * The maximum number of exports in this process that hold a chunk of records in memory at the same time. Further
 * exports wait.
 */
const maxChunks = 20

interface ExportOptions {
  startsPerHour: number
  compression: boolean
  isStopping: () => boolean
  /** Waits until no other request is under way, for at most a limit in milliseconds. */
  whenIdle: (limit: number) => Promise<void>
}

/** Registers the exports. The checks run in the order of R1. The limits of exports are checked after these. */
export function registerExports(
  app: FastifyInstance,
  gateway: Gateway,
  authenticate: Authenticate,
  options: ExportOptions,
): void {
  const { pool, recordPool } = gateway
  const { isStopping } = options
  const [sql, records] = [pool.exports, recordPool.exports]
  const limits = createExportLimits(pool, options.startsPerHour)
  const streams = new Set<ExportStream>()
  const waitForStep = createStepScheduler(options.whenIdle)
  const places = new Semaphore({ maxRunning: maxChunks })
  app.addHook('preClose', async () => {
    for (const stream of streams) stream.end(stopping())
  })

  async function serve(bulkExport: BulkExport, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const { caller } = request
    const tenantId = readTenant(request)
    const access = () => requireAccess({ caller, scope: gateway.scope }, tenantId, bulkExport.permissions)
    await access()
    const list = bulkExport.listOf(tenantId)
    const { window, former } = readPosition(gateway, bulkExport, list.identity, request)
    if (isStopping()) throw stopping()
    const now = await readServerTime(recordPool.whileWanted(caller.isWaiting))
    const serverTime = former !== null && former < now ? former : now
    const lease = await limits.start(caller.token.id)
    // The deadline has passed, or the caller has disconnected.
    if (!caller.isWaiting() || reply.sent) {
      await lease.release()
      return reply
    }

    const authorize = async () => {
      const lookup = await caller.lookUp()
      if (lookup.status !== 'active') throw unauthenticated()
      caller.token = lookup.token
      await access()
    }
    const { compression } = options
    const onClose = () => streams.delete(stream)
    const stream = new ExportStream(request, reply, { lease, authorize, isStopping, compression }, onClose)
    streams.add(stream)
    return stream.send(
      exportLines({
        bulkExport,
        // Statements of exports have their own connections.
        createContext: () => ({
          ...createContext(gateway, caller),
          ...{ sql, records },
          loaders: new Loaders({ pool: recordPool, sql, records, caller, group: caller }),
        }),
        list,
        window: { ...window, until: serverTime },
        serverTime,
        places,
        waitForStep,
        continues: () => stream.continueUnless(stopping),
        complete: lease.release,
      }),
    )
  }

  registerAuthenticated(app, exportPath, authenticate, scope => {
    for (const bulkExport of bulkExports) {
      const { name, path } = bulkExport
      scope.route({
        method: 'GET',
        url: path,
        config: { operation: name },
        exposeHeadRoute: false,
        onRequest: (request, _reply, done) => {
          requireLineHeaders(request)
          done()
        },
        handler: (request, reply) => serve(bulkExport, request, reply),
      })
      refuseOtherMethods(scope, path, ['GET'])
    }
  })
}

const stopping = () =>
  new GatewayError('UNAVAILABLE', 'This instance of the service stops. Go on with the last cursor in a moment.', {
    retryAfter: spreadRetryAfter(),
  })

/** Returns the tenant in the path, or null when the path has none. @throws `NOT_FOUND` (R7) */
function readTenant({ params }: FastifyRequest): number | null {
  if (typeof params !== 'object' || params === null || !('tenant' in params)) return null
  return requireIdentifier(String(params.tenant), 'tenant')
}

/**
 * Reads the cursor in the query.
 *
 * @returns the window after the cursor, and the `server_time` of the first part of the export: removals after this
 *   instant are valid for all parts
 * @throws `BAD_USER_INPUT` with the errors of `cursor` (R5, R10)
 */
function readPosition(
  { cursors }: Gateway,
  { chunkSize }: BulkExport,
  list: ListIdentity,
  request: FastifyRequest,
): { window: PageWindow; former: string | null } {
  const given: FieldErrors = {}
  const cursor = queryParameter(request, 'cursor', given)
  try {
    const window = readWindow(cursors, list, { after: cursor }, given)
    const former = cursor === null ? null : (cursors.decrypt(list, cursor)?.until ?? null)
    return { window: { ...window, limit: chunkSize }, former }
  } catch (error) {
    if (!(error instanceof GatewayError) || !error.fieldErrors?.after) throw error
    throw new GatewayError(error.code, error.message, { fieldErrors: { cursor: error.fieldErrors.after } })
  }
}

/**
 * The maximum wait of a step for other requests, in milliseconds. A service that is always busy exports slowly, but it
 * does export.
 */
const maxWaitMs = 4

/**
 * Schedules the steps of exports. Only one export at a time takes a step, so many exports delay other requests no more
 * than one export does. Each step waits until no other request is under way.
 *
 * @param whenIdle waits until no other request is under way, for at most a limit in milliseconds
 * @returns a function that waits until the caller may take a step of some 0.5 ms
 */
function createStepScheduler(whenIdle: (limit: number) => Promise<void>): () => Promise<void> {
  let last = Promise.resolve()
  const wait = async (former: Promise<void>) => {
    await former
    // Lets requests begin that arrived during the previous step.
    await nextEvents()
    await whenIdle(maxWaitMs)
  }
  return () => {
    last = wait(last)
    return last
  }
}
