import { type StepWork, stepChannel } from '../channels.ts'
import { codeOf } from '../db/outage.ts'
import type { Pool, Sql } from '../db/sql.ts'
import { type Reason, reason } from '../reasons.ts'

/** The most keys that a step evaluates. */
const stepSize = 1000

/** The pause of an instance that has met another one making a step, in milliseconds. */
const pauseMs = 1000

/** The interval of steps, in milliseconds: half of it is the usual lag of a change. */
export const stepInterval = 100

/** After this time without changes, an instance looks for them less often, in milliseconds. */
const busyMs = 3000
const idleInterval = 400

/** After this time a step evaluates no further keys, in milliseconds: records of all tenants wait for it. */
const stepLimitMs = 1000

/** The longest time of a step that cannot do less, in minutes: one of the first fill creates an index, or sums all figures. */
const longStepMinutes = 60

const limitTo = (time: string) => `set /* step.make */ local statement_timeout = '${time}';`

/** The SQLSTATE of a lock that another transaction holds. */
const lockNotAvailable = '55P03'

/** A reason follows when no step was made for longer, in seconds. */
const lateAfter = 10

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
      for (let more: boolean | null = !isIdle || (await isStepNeeded(pool.background)); more && !closing.aborted; ) {
        const began = performance.now()
        try {
          more = session
            ? await makeStep(session, stepSize, limitTo(`${longStepMinutes}min`))
            : await makeStep(pool.background, stepSize, limitTo(`${stepLimitMs}ms`))
          if (more !== null) busyUntil = performance.now() + busyMs
        } catch (error) {
          if (session || !(await recordFailure(pool.background, error))) throw error
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
 * Returns whether a step would do more than look. It costs a third of such a step, which is made now and then because it gives the
 * last stamp (R34), and sees whether mappings fit again.
 */
async function isStepNeeded(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ needed: boolean }[]>`
    select /* step.is_needed */
      stamp < clock_timestamp() - interval '0.5 seconds' or not is_complete or epoch <> (select epoch from gateway.sync_state)
      or exists (select from gateway.notes_after(snapshot)) or exists (select from gateway.open_scan)
      or exists (select from gateway.waiting_key where place > waited) or exists (select from gateway.waiting_row) as needed
    from gateway.step order by stamp desc limit 1`
  return row?.needed ?? true
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

/** The most rejected keys that are named. */
const mostNamed = 10

/** The last step, and what steps have not taken or cannot show. */
export interface StepState {
  /** Null during the first fill. It says nothing of changes that wait. */
  secondsSinceStep: number | null
  /** How old the oldest change may be that is not in the records; null during the first fill. */
  secondsBehind: number | null
  /** The notes, keys and rows of rules that no step has taken, up to 100,000 of each kind. */
  waiting: number
  /** An instant at which the check in the background found all records equal to their sources; null: it has not compared all yet. */
  verifiedThrough: string | null
  /** The number of records that the check in the background found different from their sources. Usually 0. */
  differed: number
  /** The number of keys whose rows v1 cannot show. */
  rejected: number
  /** The first of them, with reasons that quote no value of a row: the answer may be public. */
  rejectedKeys: { record: string; key: string; reason: string }[]
  /** About steps that are not made, mappings that they do not follow, and the replication of a platform. */
  reasons: Reason[]
}

/** What the reasons of a state follow from. */
interface StepFacts {
  late: {
    /** Since the last step, or since the migration before the first one. */
    seconds: number
    isComplete: boolean
    failure: string | null
    /** The session with a lock that steps need, and the age of its transaction; null: hidden. */
    holder: { pid: number; login: string; table: string; seconds: number | null } | null
  }
  /** The types of records whose mappings do not fit, or are not followed. */
  broken: { record: string; why: string }[]
  stopped: { record: string; why: string }[]
  /** Null: the platform has the database of the gateway. */
  platform: { reasons: Reason[]; needsCopy: string | null; isWatched: boolean } | null
}

/** Reads the state of the steps. */
export async function readStepState(sql: Sql): Promise<StepState> {
  const [{ facts, ...state }] = await sql<[Omit<StepState, 'reasons'> & { facts: StepFacts }]>`
    select /* step.read_state */
      round(extract(epoch from clock_timestamp() - case when is_complete then stamp end), 1)::float8 as "secondsSinceStep",
      case when is_complete then round(greatest(0, extract(epoch from clock_timestamp() - least(coalesce(
        behind_since, case when exists (select from gateway.notes_after(snapshot)) then stamp end), (
          select least(subscription.behind_since, case when needs_copy is not null or seen_at < clock_timestamp() - interval '1 minute'
                                                       then coalesce(seen_at, copied_at) end)
          from gateway.subscription)))), 1)::float8
        end as "secondsBehind",
      (select count(*) from (select from gateway.notes_after(snapshot) limit 100000) note)
      + (select count(*) from (select from gateway.waiting_key where place > waited limit 100000) waiting)
      + (select count(*) from (select from gateway.waiting_row limit 100000) waiting) as waiting,
      (select verified_through from gateway.check_progress) as "verifiedThrough",
      (select differed from gateway.check_progress) as differed,
      (select count(*) from gateway.rejected) as rejected,
      array_to_json(array(
        select json_build_object(
          'record', record, 'key', key, 'reason', gateway.without_values(reason))
        from gateway.rejected order by record, key limit ${mostNamed})) as "rejectedKeys",
      json_build_object(
        'late', json_build_object(
          'seconds', round(extract(epoch from clock_timestamp() - coalesce(stamp, (select max(run_at) from gateway.migration)))),
          'isComplete', coalesce(is_complete, false),
          'failure', (
            select format('since %s steps fail: %s (%s)', to_char(since at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), message, code)
            from gateway.step_failure where latest > clock_timestamp() - interval '15 seconds'),
          'holder', (
            select json_build_object(
              'pid', pid, 'login', usename, 'table', relname, 'seconds', extract(epoch from clock_timestamp() - xact_start))
            from pg_locks join pg_class on pg_class.oid = relation left join pg_stat_activity using (pid)
            where granted and relnamespace = 'gateway'::regnamespace and database = (
                select oid from pg_database where datname = current_database())
              and mode in ('ShareLock', 'ShareRowExclusiveLock', 'ExclusiveLock', 'AccessExclusiveLock')
            order by relname = 'step_lock' desc limit 1)),
        'broken', array(
          select json_build_object('record', record, 'why', reason) from gateway.broken_mapping
          union all
          select json_build_object('record', record, 'why', stopped) from gateway.scan
          where stopped is not null and not too_many),
        'stopped', array(
          select json_build_object('record', record, 'why', stopped) from gateway.scan
          where stopped is not null and too_many),
        'platform', (
          select json_build_object(
            'reasons', reasons, 'needsCopy', needs_copy,
            'isWatched', coalesce(seen_at, copied_at) > clock_timestamp() - interval '1 minute')
          from gateway.subscription)) as facts
    from (select from (values (1)) one) one
    left join (select * from gateway.step order by stamp desc limit 1) step on true`
  return { ...state, reasons: judgeSteps(facts) }
}

/** Returns the reason for which no step is made. */
function judgeLate({ seconds, isComplete, failure, holder }: StepFacts['late']): Reason[] {
  // The session may be one that makes a step, which takes long in the first fill when it creates an index.
  const isStep = holder?.table === 'step_lock' && (!isComplete || (holder.seconds ?? lateAfter) < lateAfter)
  if (seconds <= lateAfter || (failure === null && isStep)) return []
  const [why, remedy] =
    failure !== null
      ? [failure, 'Remove the cause: steps try again by themselves. The log of the service has the whole error.']
      : holder !== null
        ? [
            `session ${holder.pid} of ${holder.login} holds a lock of gateway.${holder.table}`,
            `Let it end, or run: select pg_terminate_backend(${holder.pid});`,
          ]
        : ['no instance makes steps', 'Start the service, or look at its log.']
  return [reason('STEPS_LATE', { seconds, why, remedy })]
}

function judgeSteps({ late, broken, stopped, platform }: StepFacts): Reason[] {
  const reasons = [
    ...judgeLate(late),
    ...broken.map(facts => reason('MAPPING_BROKEN', facts)),
    ...stopped.map(facts => reason('MAPPING_STOPPED', facts)),
  ]
  if (platform === null) return reasons
  if (platform.needsCopy !== null) reasons.push(reason('PLATFORM_COPIED', { why: platform.needsCopy }))
  else if (!platform.isWatched) reasons.push(reason('PLATFORM_UNWATCHED'))
  return [...reasons, ...platform.reasons]
}
