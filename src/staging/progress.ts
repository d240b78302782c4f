/** How far a subscription is: what this database and the platform know of it. */
import type { Sql } from '../db/sql.ts'
import { subscriptionName } from './subscription.ts'

/** The subscription, as this database has it. */
export interface Subscription {
  slot: string | null
  server: string | null
  /** Since when changes may not be applied, as the last look of any instance, or the copy, has stored it. */
  since: string | null
  needs_copy: string | null
  /** Why a single table is copied again; null: none is. */
  table_needs_copy: string | null
  is_enabled: boolean
  /** The changes that could not be applied, and were tried again. */
  failures: number
  /** The tables that are staged. */
  oids: number[]
}

/** The slot, as the platform has it. */
interface Slot {
  is_lost: boolean
  /** The bytes of the log that are not applied. */
  behind: number
  /** The share of the log that the platform keeps which is left; null: it keeps all. */
  log_left: number | null
  /** The position up to which changes are applied. */
  confirmed: string
  /** Whether the changes before a position are applied. */
  is_applied: boolean
  /** The end of the log that was written, as a number of bytes, and how much of it is applied. */
  written: number
  applied: number
}

/** Creates a function that returns since when changes may not be applied. It is called after each look; slot null: the look failed. */
export function createLag() {
  /** The former looks, before whose ends of the log some changes may not be applied. */
  let unapplied: { name: string | null; written: number; at: string }[] = []
  return ({ slot: name, since }: Subscription, slot: Slot | null): string | null => {
    // The first look of this process at a slot: what was written before it may be as old as the stored time.
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

/** Returns a slot; null when the platform has none of the name. @param position one of its log, as PostgreSQL writes it */
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

/** Returns the end of the platform's log, as PostgreSQL writes it. */
export async function readPosition(platform: Sql): Promise<string> {
  const [row] = await platform<[{ position: string }]>`
    select /* platform.read_position */ pg_current_wal_insert_lsn()::text as position`
  return row.position
}
