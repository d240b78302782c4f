/** Reads the progress of a subscription, from the gateway's database and from the platform. */
import type { Sql } from '../db/sql.ts'
import { subscriptionName } from './subscription.ts'

/** The state of the subscription in the gateway's database. */
export interface Subscription {
  slot: string | null
  server: string | null
  /** The instant after which changes may be missing. The last check of any instance, or the copy, has stored it. */
  since: string | null
  needs_copy: string | null
  /** The reason why single tables have to be copied again; null when there is none. */
  table_needs_copy: string | null
  is_enabled: boolean
  /** The number of times that the subscription has failed to apply a change. */
  failures: number
  /** The staged tables, by their oids at the platform. */
  oids: number[]
}

/** The state of the slot at the platform. */
interface Slot {
  is_lost: boolean
  /** The number of bytes of WAL that the subscription has not applied yet. */
  behind: number
  /**
   * The share of `max_slot_wal_keep_size` that is left, from 0 to 1; null when the platform keeps WAL without limit.
   */
  log_left: number | null
  /** The WAL position up to which all changes are applied. */
  confirmed: string
  /** True when all changes before the `position` of `readSlot` are applied. */
  is_applied: boolean
  /**
   * The WAL positions up to which the platform has written (`written`) and the subscription has applied (`applied`), in
   * bytes.
   */
  written: number
  applied: number
}

/**
 * Creates a function that returns the instant after which changes may be missing. Call it after each check of the
 * platform, with a null slot when the check failed.
 */
export function createLag() {
  /** The earlier checks at which the end of the WAL was a position that is not applied yet. */
  let unapplied: { name: string | null; written: number; at: string }[] = []
  return ({ slot: name, since }: Subscription, slot: Slot | null): string | null => {
    // At the first check of a slot by this process, the WAL that is not applied yet may be as old as the stored time.
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
 * Returns a slot, or null when the platform has no slot with the name.
 *
 * @param position a WAL position (LSN)
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

/** Returns the position (LSN) of the end of the platform's WAL. */
export async function readPosition(platform: Sql): Promise<string> {
  const [row] = await platform<[{ position: string }]>`
    select /* platform.read_position */ pg_current_wal_insert_lsn()::text as position`
  return row.position
}
