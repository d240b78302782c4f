/**
 * Repairs staged tables where logical replication alone is not enough: when columns change, a slot is lost, or a
 * failover happens at the platform. Reports the problems that it cannot repair.
 */
import { liftLimits } from '../db/connection/lift-limits.ts'
import { codeOf } from '../db/connection/outage.ts'
import { inSession, type Pool } from '../db/sql.ts'
import { type Reason, ReasonError, reason } from '../reasons.ts'
import { copyPlatform, dropOtherSlot } from './copy.ts'
import { pathOf, readPlatformTables } from './platform-tables.ts'
import { createLag, readPosition, readSlot, readSubscription, type Subscription } from './progress.ts'
import { findSurplusTables, planPublication, readReplicationName } from './publication.ts'
import { connectPlatform, readServer } from './server.ts'
import { hasUnstagedTables, stopSubscription, subscriptionName } from './subscription.ts'
import { ignoreTables } from './switch.ts'

/** The statement timeout at the platform, in milliseconds. */
const statementTimeoutMs = 10_000

/** The pause after a failed copy, in milliseconds. */
const copyPauseMs = 60_000

/** The shares of `max_slot_wal_keep_size` that are left (`log_left`) below which there is a warning. */
const warnedShares = [0.2, 0.5]

/**
 * Creates the watch of a platform.
 *
 * @param owner connections of the owner of the staged tables
 * @param onCopy called before the tables are copied again
 * @returns `follow`, which checks the platform once and makes repairs, and `close`, which ends the watch
 */
export function createPlatformWatch(
  owner: Pool,
  { platformUrl, onCopy }: { platformUrl: string; onCopy: (reason: string) => void },
) {
  const platform = connectPlatform(platformUrl, { name: 'platform', max: 1, statementTimeoutMs })
  const closing = new AbortController()
  /** The columns at the last check, and the WAL position of the platform after that check. */
  let former = { columns: '', position: 'FFFFFFFF/FFFFFFFF' }
  /** The platform's tables, as JSON, to which the staged tables were last adapted. */
  let followed = ''
  let isLooking = false
  let copyAfter = 0
  let failures = 0
  /** The number of checks with new failures since the subscription last applied a change. */
  let failing = 0
  /** True when the staged tables were adapted because changes failed, although the failures may have another reason. */
  let isTrial = false
  let confirmed = ''
  const findLag = createLag()

  /**
   * Checks the platform, and adapts the columns of the staged tables.
   *
   * @returns the reasons for an administrator; the slot; the reason why all tables, or single tables, have to be copied
   * again, or null; and whether a copy has to wait for a change at the platform
   */
  async function look({ slot: name, server, needs_copy, table_needs_copy, is_enabled, oids, ...now }: Subscription) {
    const reasons: Reason[] = []
    const differ = (error: unknown) =>
      reasons.push(reason('STAGED_TABLES_DIFFER', { why: error instanceof Error ? error.message : String(error) }))
    const found = await readServer(platform)
    const slot = name === null ? null : await readSlot(platform, name, former.position)
    // The worker of the subscription retries at its own interval, so not every check finds a new failure.
    if (slot?.confirmed !== confirmed) {
      failing = 0
      isTrial = false
    } else if (now.failures > failures) failing++
    failures = now.failures
    confirmed = slot?.confirmed ?? ''
    let needsCopy = needs_copy
    let tableNeedsCopy = table_needs_copy
    if (server !== null && server !== found.name)
      needsCopy ??= 'The database of the platform is on another server, or was failed over.'
    else if (name !== null && (slot === null || slot.is_lost)) needsCopy ??= `The platform has lost the slot ${name}.`

    const tables = await readPlatformTables(platform, oids)
    const text = JSON.stringify(tables.filter(({ problem }) => problem === null))
    const columns = JSON.stringify(tables.map(({ schema, name, columns }) => [schema, name, columns]))
    // Changes that are not applied yet usually have the former name of a renamed column. If they keep failing, they
    // have the new name.
    const isApplied = failing > 1 || (slot?.is_applied === true && columns === former.columns)
    former = { columns, position: await readPosition(platform) }
    // Not during a copy, which disables the subscription, and adapts the tables itself.
    if (is_enabled && text !== followed) {
      try {
        const why = await followTables(text, isApplied)
        tableNeedsCopy ??= why
        if (isApplied) {
          followed = text
          isTrial = failing > 1
        }
      } catch (error) {
        differ(error)
      }
    }

    const publication = await readReplicationName(owner)
    const surplus = await findSurplusTables(platform, publication, tables)
    if (surplus) reasons.push(surplus.reason)
    if (surplus?.reason.code === 'PUBLICATION_FORBIDDEN' || (await hasUnstagedTables(owner))) {
      await stopSubscription(owner)
      needsCopy ??= 'The platform published tables that are not staged.'
    } else if (surplus) await ignoreTables(owner, surplus.tables).catch(differ)
    const unpublished = await planPublication(platform, publication, tables)
    if (unpublished.length > 0) {
      needsCopy ??= 'The publication of the platform lacks tables.'
      reasons.push(reason('PUBLICATION_INCOMPLETE', { statements: unpublished.join(' ') }))
    }
    for (const { problem, ...table } of tables) {
      if (problem)
        reasons.push(reason('PLATFORM_TABLE_UNFIT', { table: pathOf(table), problem: problem[0], remedy: problem[1] }))
    }
    if (tables.length < oids.length) reasons.push(reason('PLATFORM_TABLES_DROPPED'))
    // During a copy the subscription is disabled too, so this is a problem only without a copy.
    if (name !== null && !is_enabled && needsCopy === null && tableNeedsCopy === null) {
      reasons.push(reason('SUBSCRIPTION_DISABLED', { name: subscriptionName }))
    }
    if (tableNeedsCopy !== null && needsCopy === null) reasons.push(reason('PLATFORM_COPIED', { why: tableNeedsCopy }))
    if (failing > 3) {
      if (isTrial) needsCopy ??= 'Changes that wait have former names of columns, and others have present ones.'
      reasons.push(reason('CHANGE_NOT_APPLIED'))
    }
    const share = warnedShares.find(share => (slot?.log_left ?? 1) < share)
    if (share !== undefined) reasons.push(reason('PLATFORM_LOG_SHORT', { percent: share * 100 }))
    return { reasons, slot, needsCopy, tableNeedsCopy, waits: surplus?.isForbidden === true }
  }

  /** Adapts the columns of the staged tables. @returns the reason why rows have to be copied again, or null */
  const followTables = (tables: string, isApplied: boolean) =>
    inSession(owner, async session => {
      // No time limit, because a change of a column's type in a large table takes longer than the pool's statement
      // timeout.
      await liftLimits(session, false)
      const rows = await session<{ reason: string | null }[]>`
        select /* staging.follow_tables */ gateway.follow_table(definition, ${isApplied}) as reason
        from jsonb_array_elements(${tables}::text::jsonb) definition`
      return rows.find(({ reason }) => reason !== null)?.reason ?? null
    })

  async function followOnce(): Promise<void> {
    const subscription = await readSubscription(owner)
    if (!subscription) return
    const { reasons, slot, needsCopy, tableNeedsCopy, waits } = await look(subscription).catch(error => ({
      ...{ slot: null, needsCopy: null, tableNeedsCopy: null, waits: true },
      reasons:
        error instanceof ReasonError ? error.reasons : [reason('PLATFORM_UNREACHABLE', { error: codeOf(error) })],
    }))
    const lag = findLag(subscription, slot)
    const { count } = await owner`
      update /* staging.save_look */ gateway.subscription
      set reasons = ${JSON.stringify(reasons)}::text::jsonb, behind = ${slot?.behind ?? null},
          behind_since = case when ${lag !== null} then ${lag}::text::timestamptz when ${slot === null} then coalesce(behind_since, seen_at) end,
          log_left = ${slot?.log_left ?? null}, seen_at = clock_timestamp(), needs_copy = coalesce(needs_copy, ${needsCopy})
      where slot is not distinct from ${subscription.slot}`
    // In the meantime, another instance has copied the tables.
    if (count === 0) return
    if (needsCopy === null) await dropOtherSlot(owner, platform)
    const why = needsCopy ?? tableNeedsCopy
    if (why === null || waits || performance.now() < copyAfter) return
    // A failed copy is not repeated immediately, because each attempt reads all tables.
    copyAfter = performance.now() + copyPauseMs
    const onBegin = () => onCopy(why)
    if (await copyPlatform(owner, { platformUrl, signal: closing.signal, onBegin })) copyAfter = 0
  }

  return {
    /** Checks the platform once, unless the previous check is still running. */
    async follow(): Promise<void> {
      if (isLooking) return
      isLooking = true
      await followOnce().finally(() => {
        isLooking = false
      })
    },
    async close(): Promise<void> {
      closing.abort()
      await platform.end({ timeout: 1 })
    },
  }
}
