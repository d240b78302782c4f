/** The subscription to a platform on another server, and its slots there. */
import { setTimeout as pause } from 'node:timers/promises'
import type { DriverPool } from '../db/driver-pool.ts'
import { arrayText, type Sql } from '../db/sql.ts'
import { replicationName } from './publication.ts'

/** The time in which its worker has to end, and the interval at which it is looked for, in milliseconds. */
const timeLimit = 30_000
const interval = 100

/** Disables the subscription, and waits until nothing more is applied. */
export async function stopSubscription(target: DriverPool): Promise<void> {
  if (!(await hasSubscription(target))) return
  await target.unsafe(`alter /* staging.stop */ subscription ${replicationName} disable`)
  for (const deadline = performance.now() + timeLimit; ; await pause(interval)) {
    const [worker] = await target<{ pid: number }[]>`
      select /* staging.find_worker */ pid from pg_stat_subscription
      join pg_subscription on pg_subscription.oid = subid
      where pg_subscription.subname = ${replicationName} and pid is not null
        and subdbid = (select oid from pg_database where datname = current_database())`
    if (!worker) return
    if (performance.now() > deadline) throw new Error(`The worker of the subscription ${replicationName} does not end.`)
  }
}

/** Returns whether this database has the subscription. */
async function hasSubscription(target: Sql): Promise<boolean> {
  const [found] = await target`
    select /* staging.find_subscription */ from pg_subscription
    where subname = ${replicationName} and subdbid = (select oid from pg_database where datname = current_database())`
  return found !== undefined
}

/** Removes the subscription, which is disabled, from this database alone: its slot stays. */
export async function dropSubscription(target: Sql): Promise<void> {
  if (!(await hasSubscription(target))) return
  await target.unsafe(`alter /* staging.leave_slot */ subscription ${replicationName} set (slot_name = none)`)
  await target.unsafe(`drop /* staging.drop_subscription */ subscription ${replicationName}`)
}

/** Drops slots of former copies, if they exist. */
export async function dropSlots(platform: Sql, names: readonly (string | null | undefined)[]): Promise<void> {
  await platform`
    select /* staging.drop_slots */ pg_drop_replication_slot(slot_name) from pg_replication_slots
    where slot_name = any(${arrayText(names.filter(name => name != null))}::text::text[]) and not active`
}
