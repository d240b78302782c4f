import { type StepWork, stepChannel } from '../channels.ts'
import { codeOf } from '../db/connection/outage.ts'
import type { Pool, Sql } from '../db/sql.ts'

/** The maximum number of keys that a step evaluates. */
const stepSize = 1000

/** The pause of an instance while another instance makes a step, in milliseconds. */
const pauseMs = 1000

/** The interval of steps, in milliseconds: half of it is the usual lag of a change. */
export const stepInterval = 100

/** After this time without changes, an instance looks for them less often, in milliseconds. */
const busyMs = 3000
const idleInterval = 400

/** After this time a step evaluates no further keys, in milliseconds: records of all tenants wait for it. */
const stepLimitMs = 1000

/** The maximum time of an indivisible step, in minutes: a step of the first fill creates an index, or sums all figures. */
const longStepMinutes = 60

const limitTo = (time: string) => `set /* step.make */ local statement_timeout = '${time}';`

/** The SQLSTATE of a lock that another transaction holds. */
const lockNotAvailable = '55P03'

/**
 * Creates the job that writes the records (`sql/functions/step`). Several instances may call it: one of them makes a step at a time.
 * A step that fails is recorded, so that the next one evaluates fewer keys. One that cannot do less is repeated on a separate
 * connection, with more time.
 *
 * @param pool the service's pool
 * @param closing no step begins after it is aborted
 * @returns makes steps until no key waits. Returns the pause before the next call, in milliseconds
 */
export function createSteps(pool: Pool, closing: AbortSignal): () => Promise<number> {
  let busyUntil = 0
  return async () => {
    const called = performance.now()
    let session: ReturnType<Pool['openSession']> | undefined
    const disconnect = () => session?.end({ timeout: 0 })
    closing.addEventListener('abort', disconnect)
    try {
      const isIdle = called > busyUntil
      for (let more: boolean | null = !isIdle || !(await makeQuietStep(pool.steps)); more && !closing.aborted; ) {
        const began = performance.now()
        try {
          more = session
            ? await makeStep(session, stepSize, limitTo(`${longStepMinutes}min`))
            : await makeStep(pool.steps, stepSize, limitTo(`${stepLimitMs}ms`))
          if (more !== null) busyUntil = performance.now() + busyMs
        } catch (error) {
          if (session || !(await recordFailure(pool.steps, error))) throw error
          session = pool.openSession({ answerTimeoutMs: longStepMinutes * 60_000 })
          continue
        }
        if (session && performance.now() - began < stepLimitMs) {
          await disconnect()
          session = undefined
        }
      }
      const now = performance.now()
      const interval = now > busyUntil ? idleInterval : stepInterval
      return interval - ((now - called) % interval)
    } catch (error) {
      if (codeOf(error) !== lockNotAvailable) throw error
      return pauseMs
    } finally {
      closing.removeEventListener('abort', disconnect)
      await disconnect()
    }
  }
}

/**
 * Makes the step that gives the last stamp (R34) of an idle service.
 *
 * @returns whether it was enough; else there is something to evaluate, or a mapping that may fit again
 * @throws an error with the code `55P03` while another step is made
 */
async function makeQuietStep(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ isEnough: boolean }]>`
    select /* step.make_quiet */ gateway.make_quiet_step() and not exists (select from gateway.broken_mapping) as "isEnough"`
  return row.isEnough
}

/**
 * Makes one step. The statements of a message are one transaction: the lock comes before its snapshot (I1).
 *
 * @param most how many keys it evaluates
 * @param settings a statement that comes first
 * @returns whether more keys wait; null when there was none to evaluate
 * @throws an error with the code `55P03` while another step is made
 */
export async function makeStep(sql: Sql, most = stepSize, settings = ''): Promise<boolean | null> {
  const work = { startedAt: Date.now() }
  const { more } = await stepChannel.tracePromise(async (): Promise<NonNullable<StepWork['result']>> => {
    const results = await sql
      .unsafe<NonNullable<StepWork['result']>[][]>(
        `${settings}set /* step.make */ transaction isolation level repeatable read;
         lock /* step.make */ table gateway.step_lock in exclusive mode nowait;
         select /* step.make */ more, keys from gateway.make_step(${most})`,
      )
      .simple()
    return results.at(-1)?.[0] ?? { more: null, keys: null }
  }, work)
  return more
}

/** Records that a step has failed. @returns whether only a step with more time can go on */
async function recordFailure(sql: Sql, error: unknown): Promise<boolean> {
  const code = codeOf(error)
  if (code === lockNotAvailable || !(error instanceof Error)) return false
  try {
    const [row] = await sql<[{ needsTime: boolean }]>`
      select /* step.record_failure */ gateway.record_step_failure(${code}, ${error.message}) as "needsTime"`
    return row.needsTime
  } catch {
    return false // The step's error says more.
  }
}

/** Deletes notes that each step has taken, and steps that ended a minute ago. */
export async function deletePassedNotes(sql: Sql): Promise<void> {
  await sql`select /* step.delete_passed_notes */ gateway.delete_passed_notes()`
}
