import { type StepWork, stepChannel } from '../channels.ts'
import { codeOf } from '../db/outage.ts'
import type { Pool, Sql } from '../db/sql.ts'
import { type Reason, reason } from '../reasons.ts'

/** The most keys that a step evaluates. */
const stepSize = 1000

/** The pause of an instance that has met another one making a step, in milliseconds. */
const pauseMs = 1000

/** After this time without changes, an instance looks for them less often, in milliseconds. */
const busyMs = 3000
const idlePauseMs = 350

/** The longest time that a step of the first fill may take, in minutes: one creates an index, or sums all figures. */
const longStepMinutes = 60
const longStepLimit = `set /* step.make */ local statement_timeout = '${longStepMinutes}min';`

/** The SQLSTATEs of a lock that another transaction holds, and of a statement that took too long. */
const lockNotAvailable = '55P03'
const timedOut = '57014'

/**
 * Creates the job that writes the records (`sql/0008`). Several instances may call it: one of them makes a step at a time.
 * A step that exceeds the time limit of background jobs is repeated on a separate connection.
 *
 * @param pool the service's pool
 * @param closing no step begins after it is aborted
 * @returns makes steps until no key waits; does nothing while a former call goes on
 */
export function createSteps(pool: Pool, closing: AbortSignal): () => Promise<void> {
  let isWorking = false
  let pausedUntil = 0
  let busyUntil = 0
  return async () => {
    if (isWorking || performance.now() < pausedUntil) return
    isWorking = true
    let session: ReturnType<Pool['openSession']> | undefined
    const disconnect = () => session?.end({ timeout: 0 })
    closing.addEventListener('abort', disconnect)
    try {
      for (let more: boolean | null = true; more && !closing.aborted; ) {
        try {
          more = session ? await makeStep(session, stepSize, longStepLimit) : await makeStep(pool.background)
          if (more !== null) busyUntil = performance.now() + busyMs
        } catch (error) {
          if (session || codeOf(error) !== timedOut) throw error
          session = pool.openSession({ answerTimeoutMs: longStepMinutes * 60_000 })
        }
      }
      if (performance.now() > busyUntil) pausedUntil = performance.now() + idlePauseMs
    } catch (error) {
      if (codeOf(error) !== lockNotAvailable) throw error
      pausedUntil = performance.now() + pauseMs
    } finally {
      closing.removeEventListener('abort', disconnect)
      await disconnect()
      isWorking = false
    }
  }
}

/**
 * Makes one step. The statements of a message are one transaction: the lock comes before its snapshot.
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
  /** About mappings that steps do not follow, and about the replication of a platform. */
  reasons: Reason[]
}

/** What the reasons of a state follow from. */
interface StepFacts {
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
      case when is_complete then round(greatest(0, extract(epoch from clock_timestamp() - coalesce(
        behind_since, case when exists (select from gateway.notes_after(snapshot)) then stamp end))), 1)::float8
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
        'broken', array(
          select json_build_object('record', record, 'why', reason) from gateway.broken_mapping
          union all
          select json_build_object('record', record, 'why', stopped) from gateway.scan where failed_at is not null),
        'stopped', array(
          select json_build_object('record', record, 'why', stopped) from gateway.scan
          where stopped is not null and failed_at is null),
        'platform', (
          select json_build_object(
            'reasons', reasons, 'needsCopy', needs_copy,
            'isWatched', coalesce(seen_at, copied_at) > clock_timestamp() - interval '1 minute')
          from gateway.subscription)) as facts
    from (select from (values (1)) one) one
    left join (select * from gateway.step order by stamp desc limit 1) step on true`
  return { ...state, reasons: judgeSteps(facts) }
}

function judgeSteps({ broken, stopped, platform }: StepFacts): Reason[] {
  const reasons = [
    ...broken.map(facts => reason('MAPPING_BROKEN', facts)),
    ...stopped.map(facts => reason('MAPPING_STOPPED', facts)),
  ]
  if (platform === null) return reasons
  if (platform.needsCopy !== null) reasons.push(reason('PLATFORM_COPIED', { why: platform.needsCopy }))
  else if (!platform.isWatched) reasons.push(reason('PLATFORM_UNWATCHED'))
  return [...reasons, ...platform.reasons]
}
