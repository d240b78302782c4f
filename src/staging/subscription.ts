/** Creates, stops and drops the subscription to a platform on another server, and its slots at the platform. */
import { setTimeout as pause } from 'node:timers/promises'
import { arrayText, type DriverPool, type Sql } from '../db/sql.ts'
import { connectionString } from './connection-string.ts'

/** The name of the subscription in the gateway's database. */
export const subscriptionName = 'voucher_gateway'

/**
 * The maximum wait for the end of the subscription's worker (`timeLimit`), and the interval at which the worker is
 * checked, in milliseconds.
 */
const timeLimit = 30_000
const interval = 100

/** Disables the subscription, and waits until its worker has ended. */
export async function stopSubscription(target: DriverPool): Promise<void> {
  if (!(await hasSubscription(target))) return
  await target.unsafe(`alter /* staging.stop */ subscription ${subscriptionName} disable`)
  for (const deadline = performance.now() + timeLimit; ; await pause(interval)) {
    const [worker] = await target<{ pid: number }[]>`
      select /* staging.find_worker */ pid from pg_stat_subscription
      join pg_subscription on pg_subscription.oid = subid
      where pg_subscription.subname = ${subscriptionName} and pid is not null
        and subdbid = (select oid from pg_database where datname = current_database())`
    if (!worker) return
    if (performance.now() > deadline)
      throw new Error(`The worker of the subscription ${subscriptionName} does not end.`)
  }
}

/** Returns whether the subscription writes into tables that are not staged, or whose changes must be ignored. */
export async function hasUnstagedTables(target: Sql): Promise<boolean> {
  const [table] = await target`
    select /* staging.find_foreign */ from pg_subscription_rel join pg_subscription on pg_subscription.oid = srsubid
    where subname = ${subscriptionName} and not exists (
      select from gateway.staged_table where to_regclass(source) = srrelid and not is_ignored)
    limit 1`
  return table !== undefined
}

/**
 * Creates a subscription to an existing slot, in the transaction of the caller.
 *
 * @param options further `with` options of `create subscription`
 */
export async function createSubscription(
  target: Sql,
  { name = subscriptionName, ...of }: { name?: string; platformUrl: string; publication: string; options: string },
): Promise<void> {
  const address = connectionString(of.platformUrl).replaceAll('\\', '\\\\').replaceAll("'", "''")
  await target.unsafe(
    `create /* staging.subscribe */ subscription ${name} connection E'${address}' publication ${of.publication}
     with (create_slot = false, copy_data = false, ${of.options})`,
  )
}

/** Enables the subscription, if it exists and writes only into staged tables. */
export async function startSubscription(target: Sql): Promise<void> {
  if ((await hasSubscription(target)) && !(await hasUnstagedTables(target)))
    await target.unsafe(`alter /* staging.start */ subscription ${subscriptionName} enable`)
}

async function hasSubscription(target: Sql): Promise<boolean> {
  const [found] = await target`
    select /* staging.find_subscription */ from pg_subscription
    where subname = ${subscriptionName} and subdbid = (select oid from pg_database where datname = current_database())`
  return found !== undefined
}

/** Drops the disabled subscription, but leaves its slot at the platform. */
export async function dropSubscription(target: Sql): Promise<void> {
  if (!(await hasSubscription(target))) return
  await target.unsafe(`alter /* staging.leave_slot */ subscription ${subscriptionName} set (slot_name = none)`)
  await target.unsafe(`drop /* staging.drop_subscription */ subscription ${subscriptionName}`)
}

/**
 * Drops slots that are no longer needed, if they exist. Waits until a subscription that has just ended no longer uses
 * its slot.
 *
 * @throws an Error when a slot stays in use. Such a slot keeps the WAL of the platform
 */
export async function dropSlots(platform: Sql, names: readonly (string | null | undefined)[]): Promise<void> {
  const slots = arrayText(names.filter(name => name != null))
  for (const deadline = performance.now() + timeLimit; ; await pause(interval)) {
    await platform`
      select /* staging.drop_slots */ pg_drop_replication_slot(slot_name) from pg_replication_slots
      where slot_name = any(${slots}::text::text[]) and not active`
    const [left] = await platform<{ name: string }[]>`
      select /* staging.find_slots */ slot_name as name from pg_replication_slots where slot_name = any(${slots}::text::text[])`
    if (!left) return
    if (performance.now() > deadline)
      throw new Error(`The slot ${left.name} of the platform is in use, and keeps its log.`)
  }
}

/** The lag of the subscription behind the platform. */
interface Lag {
  /** The number of bytes of the platform's WAL that are not applied yet. */
  behind: number
  /**
   * The share of `max_slot_wal_keep_size` that is left, from 0 to 1; null when the platform keeps WAL without limit.
   */
  log_left: number | null
}

/**
 * Returns the lag at the last check of the platform; null when there was no such check.
 *
 * @param isRecent true to accept only a check within the last minute
 */
export async function readLag(sql: Sql, { isRecent }: { isRecent: boolean }): Promise<Lag | null> {
  const [lag] = await sql<Lag[]>`
    select /* subscription.read_lag */ behind, log_left from gateway.subscription
    where behind is not null and (not ${isRecent} or seen_at > clock_timestamp() - interval '1 minute')`
  return lag ?? null
}
