import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { coalesceReads } from '../async/coalesce-reads.ts'
import { codeOf } from '../db/connection/outage.ts'
import type { Pool } from '../db/sql.ts'
import { type StandbyState, standbyReasons } from '../db/standby/standby.ts'
import { readStepState, type StepState } from '../projection/step-state.ts'
import { type Reason, ReasonError, reason } from '../reasons.ts'
import { hideKey } from './hide-key.ts'
import { furtherChecks, readinessChecks } from './quick.ts'
import { createReasonLog } from './reason-log.ts'

const readyTimeoutMs = 1_000

/** The time limit of each check that does not decide the readiness, in milliseconds. */
const optionalCheckTimeoutMs = 400

/** The SQLSTATE of a statement that the role may not run. */
const missingRight = '42501'

/** The number of workers of `serve --workers` that listen, and the total number. */
export interface WorkerCount {
  listening: number
  total: number
}

export interface WorkerRole {
  /** The number of the worker, from 1. */
  worker: number
  /** Returns the number of workers that listen, or null before it is known. */
  workers(): WorkerCount | null
}

const checkNames = ['database', 'migrations', 'fill'] as const

/** The checks by name. The service is ready when all checks are ok. */
interface Readiness {
  checks: Record<(typeof checkNames)[number], 'ok' | 'failing'>
  /** The reasons why checks fail, and the problems with which the service can still answer. */
  reasons: Reason[]
  /** Undefined when unknown. */
  records?: Omit<StepState, 'reasons'>
  /** Undefined when no standby is configured. */
  standbys?: StandbyState[]
  workers?: WorkerCount | null
}

export type CheckReadiness = () => Promise<Readiness>

const notReady = (...reasons: Reason[]): Readiness => ({
  checks: { database: 'failing', migrations: 'failing', fill: 'failing' },
  reasons,
})

/**
 * Creates the check of `/readyz`: the database answers within a second, is a primary that can be written, and is
 * migrated, and the first fill is done. A problem with which the service can still answer is only reported as a reason,
 * because all instances have the same problem. Each result is no older than its call, so the result after a repair
 * shows the repair. Reasons that begin or end are written to the log.
 *
 * @param own a separate connection, which is tried first, because all connections of requests may be busy
 * @param pool the connections of requests, which are tried when the separate connection fails or is late: the database
 *   may accept no further connection, or a pooler may let new connections wait
 * @param readStandbys returns the states of the standbys, for the result. When no standby can be used, the primary
 *   answers
 * @param countWorkers in a worker, returns the number of workers that listen, for the result
 */
export function createReadiness(
  app: FastifyInstance,
  { own, pool }: { own: Pool; pool: Pool },
  readStandbys: () => StandbyState[],
  countWorkers: () => WorkerCount | null = () => null,
): CheckReadiness {
  async function run(): Promise<Readiness> {
    const first = runChecks(own)
    const early = await Promise.race([first.catch(() => null), sleep(readyTimeoutMs / 2, null, { ref: false })])
    if (early) return early
    const second = runChecks(pool)
    return Promise.any([first, second]).catch(() => second)
  }
  const check = coalesceReads(
    () =>
      run().catch(error => {
        app.failureLog.report({ error, message: 'not ready', kind: 'outage' })
        return notReady(
          ...(error instanceof ReasonError ? error.reasons : [reason('DATABASE_FAILED', { error: codeOf(error) })]),
        )
      }),
    readyTimeoutMs,
  )
  /** @returns a function that reads the part; its result is null when the part is late */
  const part = <Result>(name: string, read: (sql: Pool) => Promise<Result>) => {
    const once = coalesceReads(
      () =>
        read(pool).catch(error => {
          app.failureLog.report({ error, message: `failed: look at ${name}`, kind: 'job' })
          return null
        }),
      optionalCheckTimeoutMs,
    )
    return () => Promise.race([once(), sleep(optionalCheckTimeoutMs, null, { ref: false })])
  }
  const [readCapture, readRights, readClock, readSteps] = [
    part('the capture of changes', furtherChecks.capture),
    part('the rights of the service', furtherChecks.rights),
    part('the clock of the database', furtherChecks.clock),
    part('the state of the steps', readStepState),
  ]
  const log = createReasonLog(app.log)
  return async () => {
    const late = notReady(reason('DATABASE_SILENT'))
    const { checks, reasons } = await Promise.race([check(), sleep(readyTimeoutMs, late, { ref: false })])
    const standbys = readStandbys()
    const shown = { checks, ...(standbys.length > 0 && { standbys }), workers: countWorkers() }
    if (checks.migrations === 'failing') {
      log(reasons, false)
      return { ...shown, reasons }
    }
    const parts = await Promise.all([readCapture(), readRights(), readClock(), readSteps()])
    const [capture, rights, clock, steps] = parts
    const found = [...reasons, ...(capture ?? []), ...(rights ?? []), ...(clock ?? []), ...app.failureLog.reasons()]
    if (steps) found.push(...steps.reasons)
    log(found, !parts.includes(null))
    const all = { ...shown, reasons: [...found, ...standbyReasons(standbys)] }
    if (!steps) return all
    const { reasons: _, rejectedKeys, ...rest } = steps
    const hidden = rejectedKeys.map(rejected => ({ ...rejected, key: hideKey(rejected.key) }))
    return { ...all, records: { ...rest, rejectedKeys: hidden } }
  }
}

/**
 * Runs the checks until one check fails. The checks after this one count as failing.
 *
 * @throws the error of a statement
 */
async function runChecks(sql: Pool): Promise<Readiness> {
  const result = notReady()
  for (const name of checkNames) {
    result.reasons = await readinessChecks[name](sql).catch(async error => {
      // The check does not fail for a missing right, because other statements may be allowed. The missing right has its
      // own reason.
      if (codeOf(error) === missingRight && (await furtherChecks.rights(sql)).length > 0) return []
      throw error
    })
    if (result.reasons.length > 0) break
    result.checks[name] = 'ok'
  }
  return result
}

/**
 * Registers the health checks, which need no token and return no value of a record. `GET /livez` answers as long as the
 * process runs. `GET /readyz` is 200 when requests can be served, and 503 while the service stops; the body lists each
 * check, each reason, and the state of the steps.
 */
export function registerHealth(app: FastifyInstance, check: CheckReadiness, isStopping: () => boolean): void {
  app.get('/livez', () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    if (isStopping()) return reply.code(503).send({ status: 'stopping', reasons: [reason('SERVICE_STOPPING')] })
    const { checks, reasons, records, standbys, workers } = await check()
    const ready = Object.values(checks).every(check => check === 'ok')
    const status = ready ? 'ok' : 'failing'
    return reply
      .code(ready ? 200 : 503)
      .send({ status, checks, reasons, records, standbys, workers: workers ?? undefined })
  })
}
