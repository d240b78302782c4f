/** Reads the progress of a subscription, from this database and from the platform. */
import type { Sql } from '../db/sql.ts'
import { subscriptionName } from './subscription.ts'

/** The state of the subscription in this database. */
export interface Subscription {
  slot: string | null
  server: string | null
  /** The instant after which changes may be missing, stored by the last check of any instance, or by the copy. */
  since: string | null
  needs_copy: string | null
  /** The reason why a single table is copied again, or null. */
  table_needs_copy: string | null
  is_enabled: boolean
  /** The number of failures to apply a change. */
  failures: number
  /** The tables that are staged. */
  oids: number[]
}

/** The state of the slot at the platform. */
interface Slot {
  is_lost: boolean
  /** The bytes of the log that are not applied. */
  behind: number
  /** The remaining share of the log budget of the slot; null when the platform keeps all of its log. */
  log_left: number | null
  /** The position up to which changes are applied. */
  confirmed: string
  /** True when the changes before a position are applied. */
  is_applied: boolean
  /** The bytes of the log that are written, and the bytes that are applied. */
  written: number
  applied: number
}

/**
 * Creates a function that returns the instant after which changes may be missing. Call it after each check of the
 * platform, with a null slot when the check failed.
 */
export function createLag() {
  /** The former checks whose end of the log is not applied yet. */
  let unapplied: { name: string | null; written: number; at: string }[] = []
  return ({ slot: name, since }: Subscription, slot: Slot | null): string | null => {
    // When this process checks a slot for the first time, the log before the slot may be as old as the stored time.
    if (slot && since !== null && unapplied.at(-1)?.name !== name)
      unapplied = [{ name, written: slot.written, at: since }]
    if (slot) unapplied = unapplied.filter(look => look.name === name && look.written > slot.applied)
    const [oldest] = unapplied
    if (slot) unapplied.push({ name, written: slot.written, at: new Date().toISOString() })
    return oldest?.at ?? null
  }
}

/** Returns the subscription; undefined when no platform was staged. */
export async function readSubscription(owner: Sql): Promise<Subscription | undefined> {
  const [subscription] = await owner<Subscription[]>`
    select /* staging.read_subscription */ slot, server, needs_copy, coalesce(behind_since, seen_at, copied_at) as since,
           (select min(needs_copy) from gateway.staged_table) as table_needs_copy, coalesce(subenabled, false) as is_enabled,
           coalesce(apply_error_count, 0) as failures,
           array_to_json(array(select platform_oid::bigint from gateway.staged_table where not is_ignored)) as oids
    from gateway.subscription
    left join pg_subscription on pg_subscription.subname = ${subscriptionName}
      and subdbid = (select oid from pg_database where datname = current_database())
    left join pg_stat_subscription_stats on subid = pg_subscription.oid`
  return subscription
}

/**
 * Returns a slot, or null when the platform has none of the name.
 *
 * @param position in its log, in PostgreSQL's notation
 */
export async function readSlot(platform: Sql, name: string, position: string): Promise<Slot | null> {
  const [slot] = await platform<Slot[]>`
    select /* platform.read_slot */ wal_status = 'lost' as is_lost, confirmed_flush_lsn::text as confirmed,
           confirmed_flush_lsn >= ${position}::text::pg_lsn as is_applied,
           (pg_current_wal_lsn() - confirmed_flush_lsn)::bigint as behind,
           (pg_current_wal_flush_lsn() - '0/0')::bigint as written, (confirmed_flush_lsn - '0/0')::bigint as applied,
           case when kept > 0 then least(greatest(safe_wal_size, 0) / kept, 1)::float8 end as log_left
    from pg_replication_slots
    cross join (select pg_size_bytes(current_setting('max_slot_wal_keep_size'))::numeric as kept) setting
    where slot_name = ${name}`
  return slot ?? null
}

/** Returns the end of the platform's log, in PostgreSQL's notation. */
export async function readPosition(platform: Sql): Promise<string> {
  const [row] = await platform<[{ position: string }]>`
    select /* platform.read_position */ pg_current_wal_insert_lsn()::text as position`
  return row.position
}
