import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { coalesceReads } from '../db/coalesce-reads.ts'
import { codeOf } from '../db/outage.ts'
import type { Pool } from '../db/sql.ts'
import { reasonsOf, type StandbyState } from '../db/standby.ts'
import { quickChecks } from '../doctor/quick.ts'
import type { CaptureWatch } from '../projection/capture.ts'
import { readStepState, type StepState } from '../projection/step.ts'
import { type Reason, ReasonError, reason } from '../reasons.ts'
import type { Draining } from './draining.ts'

const readyTimeoutMs = 1_000

const stateTimeoutMs = 200

/** The number of workers of `serve --workers` that listen, and the number of all. */
export interface WorkerCount {
  listening: number
  total: number
}

export interface WorkerRole {
  /** Its number, from 1. */
  worker: number
  /** Returns the number of workers that listen; null: not known yet. */
  workers(): WorkerCount | null
}

const checkNames = ['database', 'migrations', 'capture'] as const

/** The service is ready when all checks are ok. */
interface Readiness {
  checks: Record<(typeof checkNames)[number], 'ok' | 'failing'>
  /** Why checks fail, and what is wrong with the records and the standbys, for which alone requests are served nevertheless. */
  reasons: Reason[]
  /** Absent: unknown. */
  records?: Omit<StepState, 'reasons'>
  /** Absent: no standby is configured. */
  standbys?: StandbyState[]
  workers?: WorkerCount | null
}

export type CheckReadiness = () => Promise<Readiness>

const failing = (...reasons: Reason[]): Readiness => ({
  checks: { database: 'failing', migrations: 'failing', capture: 'failing' },
  reasons,
})

/**
 * Makes the check of `/readyz`: the database answers within a second, is a primary that can be written, is migrated, and
 * captures changes of the sources. Each result is no older than its call, so a repair shows at once.
 *
 * @param own a separate connection, because all connections of requests may be busy
 * @param pool the connections of requests, which are asked when the separate one fails or is late: the database may be
 *   full, or a pooler may let new connections wait
 * @param readStandbys returns the states of the standbys, which the result reports: without one, the primary answers
 * @param countWorkers in a worker: returns how many listen, which the result reports
 */
export function createReadiness(
  app: FastifyInstance,
  { own, pool }: { own: Pool; pool: Pool },
  capture: CaptureWatch,
  readStandbys: () => StandbyState[],
  countWorkers: () => WorkerCount | null = () => null,
): CheckReadiness {
  async function run(): Promise<Readiness> {
    const first = runChecks(own, capture)
    const early = await Promise.race([first.catch(() => null), sleep(readyTimeoutMs / 2, null, { ref: false })])
    if (early) return early
    const second = runChecks(pool, capture)
    return Promise.any([first, second]).catch(() => second)
  }
  const check = coalesceReads(
    () =>
      run().catch(error => {
        app.failureLog.report({ error, message: 'not ready', kind: 'outage' })
        return failing(
          ...(error instanceof ReasonError ? error.reasons : [reason('DATABASE_FAILED', { error: codeOf(error) })]),
        )
      }),
    readyTimeoutMs,
  )
  const records = coalesceReads(
    () =>
      readStepState(pool).catch(error => {
        app.failureLog.report({ error, message: 'failed: read the state of the steps', kind: 'job' })
        return undefined
      }),
    stateTimeoutMs,
  )
  return async () => {
    const late = failing(reason('DATABASE_SILENT'))
    const result = await Promise.race([check(), sleep(readyTimeoutMs, late, { ref: false })])
    const standbys = readStandbys()
    const shown = { ...result, ...(standbys.length > 0 && { standbys }), workers: countWorkers() }
    if (result.checks.migrations === 'failing') return shown
    const found = [...result.reasons, ...reasonsOf(standbys)]
    const state = await Promise.race([records(), sleep(stateTimeoutMs, undefined, { ref: false })])
    if (!state) return { ...shown, reasons: found }
    const { reasons, ...rest } = state
    return { ...shown, reasons: [...found, ...reasons], records: rest }
  }
}

/** Runs the checks until one fails: the checks after that count as failing. @throws the error of a statement */
async function runChecks(sql: Pool, capture: CaptureWatch): Promise<Readiness> {
  const checks = { ...quickChecks, capture: capture.check }
  const result = failing()
  for (const name of checkNames) {
    result.reasons = await checks[name](sql)
    if (result.reasons.length > 0) break
    result.checks[name] = 'ok'
  }
  return result
}

/**
 * Registers the health checks, which need no token and return no value of a record. `GET /livez` answers while the process
 * does. `GET /readyz` is 200 when requests can be served, and 503 while the service stops; the body lists each check,
 * and the state of the steps.
 */
export function registerHealth(app: FastifyInstance, check: CheckReadiness, draining: Draining): void {
  app.get('/livez', () => ({ status: 'ok' }))
  app.get('/readyz', async (_request, reply) => {
    if (draining.active) return reply.code(503).send({ status: 'stopping', reasons: [reason('SERVICE_STOPPING')] })
    const { checks, reasons, records, standbys, workers } = await check()
    const ready = Object.values(checks).every(check => check === 'ok')
    const status = ready ? 'ok' : 'failing'
    return reply
      .code(ready ? 200 : 503)
      .send({ status, checks, reasons, records, standbys, workers: workers ?? undefined })
  })
}
