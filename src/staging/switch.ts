/**
 * Switches to a copy: makes the staged tables equal to the copy, and lets the subscription continue from the slot of
 * the copy.
 */
import { arrayText, type DriverPool, type Sql } from '../db/sql.ts'
import { type PlatformTable, pathOf } from './platform-tables.ts'
import type { Server } from './server.ts'
import { copyTableOf } from './snapshot.ts'
import { createSubscription, dropSubscription, hasUnstagedTables, startSubscription } from './subscription.ts'

interface Switch {
  /** The slot from which the subscription continues; `otherSlot` is no longer needed. */
  slot: string
  otherSlot: string | null
  server: Server
  /** The tables to make equal to their copies. */
  copied: readonly PlatformTable[]
  /**
   * For copies of single tables: the WAL position before which the subscription skips the changes of these tables. Null
   * when all tables were copied.
   */
  skipTo: string | null
  /** The tables that are published but not staged. */
  ignored: readonly PlatformTable[]
  platformUrl: string
  publication: string
}

/** Makes staged tables equal to their copies, and subscribes to the slot, in one transaction. */
export async function switchTo(target: DriverPool, change: Switch): Promise<void> {
  const { slot, otherSlot, server, copied, skipTo } = change
  // `begin` is a plain statement on a session, and not the driver's `begin`: when the connection ends, all later
  // statements fail.
  await target.unsafe('begin /* staging.begin_switch */')
  for (const table of copied) {
    await target`call /* staging.take_copy */ gateway.take_copy(${pathOf(table)}::text::regclass, ${copyTableOf(table)}::text::regclass, ${arrayText(table.key)}::text::text[])`
    await target.unsafe(`drop /* staging.drop_copy */ table ${copyTableOf(table)}`)
  }
  const oids = arrayText(copied.map(table => table.platform_oid))
  if (skipTo === null) await subscribe(target, change)
  // PostgreSQL's own initial copy of a table ends with the same values in `pg_subscription_rel`.
  else
    await target`
      update /* staging.skip_changes */ pg_subscription_rel set srsubstate = 's', srsublsn = ${skipTo}::text::pg_lsn
      from gateway.staged_table where srrelid = to_regclass(source) and platform_oid = any(${oids}::text::oid[])`
  await target`
    update /* staging.end_copy */ gateway.subscription
    set slot = ${slot}, other_slot = ${otherSlot}, server = ${server.name}, copied_at = clock_timestamp(),
        needs_copy = case when ${skipTo !== null} then needs_copy end, reasons = '[]'`
  await target`
    update /* staging.forget_changed */ gateway.staged_table set needs_copy = null where platform_oid = any(${oids}::text::oid[])`
  await target.unsafe('commit /* staging.end_switch */')
  await startSubscription(target)
}

/**
 * Creates an empty table for each published table that is not staged. The subscription does not include this table, and
 * so skips its changes.
 */
export async function ignoreTables(target: Sql, tables: readonly PlatformTable[]): Promise<void> {
  for (const table of tables) {
    await target`select /* staging.ignore_table */ gateway.stage_table(${JSON.stringify(table)}::text::jsonb, true)`
  }
}

/** Replaces the subscription, in the transaction of the caller. */
async function subscribe(target: Sql, { slot, server, ignored, platformUrl, publication }: Switch): Promise<void> {
  await dropSubscription(target)
  const [own] = await target<{ version: number }[]>`
    select /* staging.read_own_version */ current_setting('server_version_num')::int as version`
  const failover = Math.min(own?.version ?? 0, server.version) >= 170_000 ? ', failover = true' : ''
  // A new subscription includes all published tables that exist here. So the ignored tables are created with other
  // marks before the subscription; with their real marks they are dropped and created again after it, outside the
  // subscription.
  const unmarked = ignored.map(table => ({ ...table, marks: {} }))
  await ignoreTables(target, unmarked)
  await createSubscription(target, { platformUrl, publication, options: `slot_name = ${slot}${failover}` })
  await ignoreTables(target, ignored)
  // When the platform has published a table in the meantime, the error rolls the new subscription back.
  if (await hasUnstagedTables(target)) throw new Error('The platform publishes tables that are not staged.')
}
