/**
 * Copies the tables of a platform on another server as they are at one instant. From this instant on, a subscription
 * applies the changes. Existing staged tables are made equal to the copy, so the same code handles a first copy, a lost
 * slot and a failover. When the WAL does not have all rows of single tables, only these tables are copied.
 */
import { liftLimits } from '../db/connection/lift-limits.ts'
import { defaultLockWait } from '../db/migration/migrate.ts'
import type { Pool, Sql } from '../db/sql.ts'
import { type PlatformTable, pathOf, readPlatformTables } from './platform-tables.ts'
import { publish, readReplicationName } from './publication.ts'
import { connectPlatform, readServer } from './server.ts'
import { type CopyProgress, copyTables, createSlot } from './snapshot.ts'
import { dropSlots, startSubscription, stopSubscription } from './subscription.ts'
import { switchTo } from './switch.ts'

/** The key of the advisory lock of a copy: an arbitrary number, the same for all instances. */
const copyLock = 7_302_155_602

export interface CopyOptions extends CopyProgress {
  /** The URL of the platform's database, which the subscription also uses. */
  platformUrl: string
  /**
   * The maximum wait for the end of the platform's open transactions, in seconds. A slot can only begin after their
   * end.
   */
  lockWait?: number
  onBlocked?: (holders: string) => void
  /** The tables that are not staged yet. The copy stages these tables first. */
  tables?: readonly PlatformTable[]
  /** Called when the copy begins; not called when another process copies. */
  onBegin?: () => void
}

/**
 * Copies all staged tables, and switches the subscription to a new slot. From the snapshot until the switch, no changes
 * are applied, and the service uses the former rows. After an error the former subscription continues, and the next
 * call starts a new copy.
 *
 * @param owner connections of the owner of the staged tables, who may create subscriptions
 * @returns true when the tables are copied; false when another process copies
 * @throws a ReasonError when forbidden tables are published; an Error that names the transactions that delay the slot;
 * an error of either database
 */
export async function copyPlatform(
  owner: Pool,
  { platformUrl, lockWait = defaultLockWait, signal, onBlocked, tables = [], onBegin, onTable }: CopyOptions,
): Promise<boolean> {
  const session = owner.openSession()
  const platform = connectPlatform(platformUrl, { max: 2, statementTimeoutMs: 0 })
  const source = platform.openSession()
  const walSender = connectPlatform(platformUrl, { max: 1, statementTimeoutMs: 0, replication: true })
  try {
    await liftLimits(session, false)
    const [lock] = await session<{ taken: boolean }[]>`
      select /* staging.lock */ pg_try_advisory_lock(${copyLock}) as taken`
    if (!lock?.taken) return false
    const name = await readReplicationName(session)
    const slot = `${name}_${Date.now()}`
    const [former] = await session<{ slot: string | null; other_slot: string | null; needs_copy: string | null }[]>`
      select /* staging.read_slots */ slot, other_slot, needs_copy from gateway.subscription`
    const changed = await session<{ oid: number }[]>`
      select /* staging.read_changed */ platform_oid::bigint as oid from gateway.staged_table where needs_copy is not null`
    const isComplete = former?.slot != null && former.needs_copy === null && tables.length === 0
    // In the meantime, another instance has copied the tables.
    if (isComplete && changed.length === 0) return true
    onBegin?.()
    await dropSlots(platform, [former?.other_slot])
    const some = isComplete ? changed.map(({ oid }) => oid) : []
    await session`
      insert into /* staging.begin_copy */ gateway.subscription (other_slot, needs_copy)
      values (${slot}, ${some.length === 0 ? 'The copy goes on.' : null})
      on conflict (is_only) do update
      set other_slot = excluded.other_slot, needs_copy = coalesce(subscription.needs_copy, excluded.needs_copy)`
    // The start of the copy is recorded before a table is staged, so that after an interruption no table counts as
    // copied.
    for (const table of tables) {
      await session`select /* staging.stage_table */ gateway.stage_table(${JSON.stringify(table)}::text::jsonb, false)`
    }
    const staged = await session<{ oid: number }[]>`
      select /* staging.read_tables */ platform_oid::bigint as oid from gateway.staged_table where not is_ignored`
    const oids = staged.map(({ oid }) => oid)
    // The tables are staged before they are published: the former subscription would wait for a missing table.
    const found = await readPlatformTables(platform, oids)
    for (const { problem, ...table } of found) if (problem) throw new Error(`${pathOf(table)} ${problem.join('. ')}`)
    const ignored = await publish(platform, name, found, { lockWait, onBlocked })
    // The server is read before the snapshot, so that a failover during the copy is detected later as another server.
    const server = await readServer(platform)
    try {
      // The former subscription stops before the snapshot, because it must not apply changes that are newer than the
      // snapshot.
      await stopSubscription(session)
      const { snapshot, position } = await createSlot(walSender, platform, { slot, server, lockWait, onBlocked })
      const isFirst = former?.slot == null
      const wanted = { oids: some.length > 0 ? some : oids, snapshot, signal, onTable, isFirst }
      const copied = await copyTables(source, session, wanted)
      signal?.throwIfAborted()
      const slots =
        some.length > 0 ? { slot: former?.slot ?? slot, otherSlot: slot } : { slot, otherSlot: former?.slot ?? null }
      const skipTo = some.length > 0 ? position : null
      const copies = isFirst ? [] : copied
      await switchTo(session, { ...slots, server, copied: copies, skipTo, ignored, platformUrl, publication: name })
    } catch (error) {
      await startSubscription(owner)
      throw error
    }
    await dropOtherSlot(session, platform)
    return true
  } finally {
    await Promise.all([session, source, platform, walSender].map(each => each.end({ timeout: 1 })))
  }
}

/**
 * Drops the slot of the former subscription, or of an interrupted copy. Takes the lock of copies, because a running
 * copy has recorded its slot, which may not exist yet.
 */
export async function dropOtherSlot(owner: Sql, platform: Sql): Promise<void> {
  const [other] = await owner<{ slot: string }[]>`
    select /* staging.read_other_slot */ other_slot as slot from gateway.subscription
    where needs_copy is null and other_slot is not null and pg_try_advisory_xact_lock(${copyLock})`
  if (!other) return
  await dropSlots(platform, [other.slot])
  await owner`
    update /* staging.forget_slot */ gateway.subscription set other_slot = null where other_slot = ${other.slot}`
}
