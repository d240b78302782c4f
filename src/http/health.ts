import Fastify, { type FastifyInstance, type FastifyServerOptions } from 'fastify'
import { coalesceReads } from '../db/coalesce-reads.ts'
import type { Pool } from '../db/connect.ts'
import { countMissingMigrations } from '../db/migrate.ts'
import { DatabaseRefusedError } from '../db/refused.ts'
import type { TriggerWatch } from '../db/triggers.ts'
import { readLag } from '../domain/sync/follower.ts'
import { closeWhileDraining, type Draining } from './draining.ts'
import { registerNotFound } from './not-found.ts'
import { handleInOrder } from './pipelining.ts'
import { refuseInvalidHttp } from './refuse-invalid-http.ts'
import { nameResponses } from './request-id.ts'
import { closeSilentConnections } from './timeouts.ts'

/** The time that the checks of `/readyz` may take, in milliseconds. */
const readyTimeoutMs = 1_000

/** The number of workers of `serve --workers` that listen, and the number of all. */
export interface WorkerCount {
  listening: number
  total: number
}

/** The role of a worker of `serve --workers`. */
export interface WorkerRole {
  /** Its number, from 1. */
  worker: number
  /** Returns the number of workers that listen; null: not known yet. */
  workers(): WorkerCount | null
}

/** The result of the checks; `reasons` are sentences with their remedies. */
interface Readiness {
  checks: Record<'database' | 'migrations' | 'triggers', 'ok' | 'failing'>
  reasons: string[]
  /** The lag of figures; null: they are not counted yet. Absent: unknown. Requests are served nevertheless. */
  figures?: { secondsBehind: number | null }
  workers?: WorkerCount | null
}

/** Answers whether the service can serve requests. */
export type CheckReadiness = () => Promise<Readiness>

const failing = (...reasons: string[]): Readiness => ({
  checks: { database: 'failing', migrations: 'failing', triggers: 'failing' },
  reasons,
})

/**
 * Makes the check of `/readyz`: the database answers within a second, is a primary that can be written, is migrated, and
 * has its triggers. Each result is no older than its call, so a repair shows at once.
 *
 * @param sql a separate connection, because all connections of requests may be busy
 * @param countWorkers in a worker: returns how many listen, which the result reports
 */
export function createReadiness(
  app: FastifyInstance,
  sql: Pool,
  triggers: TriggerWatch,
  countWorkers: () => WorkerCount | null = () => null,
): CheckReadiness {
  const check = coalesceReads(async () => {
    const result = failing()
    try {
      const reason = await findUnwritable(sql)
      if (reason !== null) return failing(reason)
      result.checks.database = 'ok'
      if ((await countMissingMigrations(sql)) > 0) return result
      result.checks.migrations = 'ok'
      result.reasons = await triggers.check()
      if (result.reasons.length === 0) result.checks.triggers = 'ok'
      const lag = await readLag(sql)
      result.figures = { secondsBehind: lag && Math.round(lag * 10) / 10 }
    } catch (error) {
      if (error instanceof DatabaseRefusedError) result.reasons = [...error.reasons]
      app.failureLog.report({ error, message: 'not ready', kind: 'outage' })
    }
    return result
  })
  return async () => {
    let timer: NodeJS.Timeout | undefined
    const timeout = new Promise<Readiness>(resolve => {
      const late = failing('The database did not answer within a second.')
      timer = setTimeout(resolve, readyTimeoutMs, late).unref()
    })
    const result = await Promise.race([check(), timeout])
    clearTimeout(timer)
    return { ...result, workers: countWorkers() }
  }
}

/** Returns a sentence when the database cannot be written, else null. */
export async function findUnwritable(sql: Pool): Promise<string | null> {
  // A default of the database or of a role holds for new sessions only, and this one may be old.
  const [row] = await sql<{ standby: boolean; readOnly: boolean }[]>`
    select /* health.read_state */ pg_is_in_recovery() as standby,
           current_setting('transaction_read_only') = 'on' or exists (
             select from pg_db_role_setting, unnest(setconfig) as setting
             where setdatabase in (0, (select oid from pg_database where datname = current_database()))
               and setrole in (0, session_user::regrole, current_user::regrole)
               and setting ~ '^default_transaction_read_only=(on|true|yes|1)$') as "readOnly"`
  if (row?.standby) return 'The database is a standby. Set DATABASE_URL to its primary.'
  if (row?.readOnly) return 'The database is read-only: default_transaction_read_only is on.'
  return null
}

/**
 * Registers the health checks, which need no token and return no data of tenants. `GET /livez` answers while the process
 * does. `GET /readyz` is 200 when requests can be served, and 503 while the service stops; the body lists each check,
 * and how far figures lag.
 */
export function registerHealth(app: FastifyInstance, check: CheckReadiness, draining: Draining): void {
  app.get('/livez', () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    if (draining.active) return reply.code(503).send({ status: 'stopping' })
    const { checks, reasons, figures, workers } = await check()
    const ready = Object.values(checks).every(state => state === 'ok')
    return reply.code(ready ? 200 : 503).send({
      ...{ status: ready ? 'ok' : 'failing', checks },
      ...(figures && { figures }),
      ...(workers && { workers }),
      ...(reasons.length > 0 && { reasons }),
    })
  })
}

/**
 * Builds a server with the health checks alone. It does not listen yet.
 *
 * @param app the service, whose log and error handler the server uses
 * @param options the options of the service that concern all its requests
 */
export function buildHealthServer(
  app: FastifyInstance,
  options: FastifyServerOptions,
  check: CheckReadiness,
  draining: Draining,
): FastifyInstance {
  // A probe that sends nothing, or half a request, must not delay the stop.
  const server = Fastify({ ...options, loggerInstance: app.log, forceCloseConnections: true })
  server.decorate('failureLog', app.failureLog)
  closeSilentConnections(server)
  nameResponses(server)
  refuseInvalidHttp(server)
  closeWhileDraining(server, draining)
  server.setErrorHandler(app.errorHandler)
  registerNotFound(server)
  registerHealth(server, check, draining)
  handleInOrder(server.server)
  return server
}
