/** Reads the state of the steps: waiting changes, rejected keys, and reasons for administrators. */
import type { Sql } from '../db/sql.ts'
import { type Reason, reason } from '../reasons.ts'

/** The time without a step after which `STEPS_LATE` is reported, in seconds. */
const lateAfter = 10

/** The last step, the changes that wait for a step, and the rows that v1 cannot show. */
export interface StepState {
  /** The time since the last step, in seconds, whether or not changes wait; null during the first fill. */
  secondsSinceStep: number | null
  /** The maximum possible age of a change that the records do not show yet, in seconds; null during the first fill. */
  secondsBehind: number | null
  /** The number of notes, keys and source rows that no step has taken, up to 100,000 of each of the three kinds. */
  waiting: number
  /** The instant for which the background check has last found all records equal to their sources; null before that. */
  verifiedThrough: string | null
  /** The number of records that the background check has found to differ from their sources. Usually 0. */
  differed: number
  /** The number of keys whose rows v1 cannot show. */
  rejected: number
  /** The first ten rejected keys. The reasons quote no value of a row, because the answer may be public. */
  rejectedKeys: { record: string; key: string; reason: string }[]
  /** The reasons for late steps, for mappings that steps do not evaluate, and about the replication of a platform. */
  reasons: Reason[]
}

/** The facts from which the reasons of a state are derived. */
interface StepFacts {
  late: {
    /** The time since the last step, in seconds; before the first step, the time since the last migration. */
    seconds: number
    isComplete: boolean
    failure: string | null
    /**
     * The session that holds a lock which steps need, and the age of its transaction in seconds; the age is null when
     * the login may not see it.
     */
    holder: { pid: number; login: string; table: string; seconds: number | null } | null
  }
  /** The types of records whose mappings do not fit the tables. */
  broken: { record: string; why: string }[]
  stopped: { record: string; why: string }[]
  /** The state of the replication; null when the tables of the platform are in the gateway's own database. */
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
        from gateway.rejected order by record, key limit 10)) as "rejectedKeys",
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

/** Returns the reason why steps are late; empty when they are not. */
function judgeLate({ seconds, isComplete, failure, holder }: StepFacts['late']): Reason[] {
  // The holder of `step_lock` may be making a step. In the first fill, a step that creates an index takes long.
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
