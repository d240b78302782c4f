import { setTimeout as sleep } from 'node:timers/promises'
import { type StepWork, stepChannel } from '../channels.ts'
import { codeOf } from '../db/connection/outage.ts'
import type { Pool, Sql } from '../db/sql.ts'

/** The maximum number of keys that a step evaluates. */
const stepSize = 1000

/** The pause of an instance while another instance makes a step, in milliseconds. */
const pauseMs = 1000

/** The interval of steps, in milliseconds. On average, a change waits for half of the interval. */
export const stepInterval = 100

/** The time without changes after which an instance makes steps at `idleInterval`, in milliseconds. */
const busyMs = 3000
const idleInterval = 400

/** The time limit of a step, in milliseconds. It is short, because changes of all tenants wait for the step. */
const stepLimitMs = 1000

/**
 * The time limit of a step that cannot be divided, in minutes: in the first fill, a step creates an index, or sums all
 * figures.
 */
const longStepMinutes = 60

const limitTo = (time: string) => `set /* step.make */ local statement_timeout = '${time}';`

/** The SQLSTATE of the error when another transaction holds a lock. */
const lockNotAvailable = '55P03'

/** The SQLSTATE of the error when a statement exceeds its time limit. */
const queryCanceled = '57014'

/**
 * Creates the job that writes the records (`sql/functions/step`). Several instances may run the job, but only one of
 * them makes a step at a time. A failed step is recorded, so that the next step evaluates fewer keys. A step that
 * cannot be divided is repeated on a separate connection, with more time.
 *
 * @param pool the service's pool
 * @param closing after its abort, no further step begins
 * @returns a function that makes steps until no key waits, and returns the pause before its next call, in milliseconds
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
 * Makes steps until no key waits, for a command that needs the records. Repeats a step that exceeded its time limit,
 * first with fewer keys and then with more time. Waits while another process makes steps.
 *
 * @param closing its abort ends the steps
 */
export async function makeAllSteps(pool: Pool, closing: AbortSignal): Promise<void> {
  const makeSteps = createSteps(pool, closing)
  while (!closing.aborted) {
    try {
      if ((await makeSteps()) !== pauseMs) return
      await sleep(stepInterval)
    } catch (error) {
      if (codeOf(error) !== queryCanceled) throw error
    }
  }
}

/**
 * Makes a step without keys, as an idle service does: the step only sets a new stamp (R34).
 *
 * @returns false when a full step is needed: keys wait, or a broken mapping may fit its tables again
 * @throws an error with the code `55P03` while another process makes a step
 */
async function makeQuietStep(sql: Sql): Promise<boolean> {
  const [row] = await sql<[{ isEnough: boolean }]>`
    select /* step.make_quiet */ gateway.make_quiet_step() and not exists (select from gateway.broken_mapping) as "isEnough"`
  return row.isEnough
}

/**
 * Makes one step. The statements of one message are one transaction, whose snapshot is taken after the lock (I1).
 *
 * @param most the maximum number of keys to evaluate
 * @param settings a `set` statement that runs first
 * @returns true when more keys wait, false when no more wait; null when there was no key to evaluate
 * @throws an error with the code `55P03` while another process makes a step
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

/** Records the failure of a step. @returns true when the step must be repeated with more time */
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

/** Deletes the notes that steps have taken, and the steps that ended more than a minute ago. */
export async function deletePassedNotes(sql: Sql): Promise<void> {
  await sql`select /* step.delete_passed_notes */ gateway.delete_passed_notes()`
}
