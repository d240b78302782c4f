/**
 * One round of the recipe in docs/guides/keeping-in-step.md: removals, then the list of tenants, then the lists of each
 * tenant. After the first round, a round reads only changes since the last round.
 */
import { type TenantListName, tenantListNames } from '#client'
import { everything, planRound, type RoundPlan } from './changes.ts'
import { hasBegun, newListState, restartList, type TenantState } from './checkpoint.ts'
import { beginFullPass } from './full-pass.ts'
import { readList } from './list-reader.ts'
import { listTitle } from './lists.ts'
import { fetchTenantAccess, readRemovals } from './removals.ts'
import { isGone, messageOf } from './service-error.ts'
import type { Change } from './store.ts'
import { isListSelected, isSelected, noteServerTime, type RoundResult, type Sync, selectedTenants } from './sync.ts'

/**
 * Brings the copy in step with all that changed before the round.
 *
 * @throws VoucherGatewayError, or the stop signal's reason: the copy is then at its last checkpoint
 */
export async function runRound(sync: Sync): Promise<RoundResult> {
  const { checkpoint, store, selection, lacking } = sync
  const result: RoundResult = { received: 0, removed: 0, beganAnew: false, serverTime: '', unreadable: [] }
  if (checkpoint.copy?.epoch == null) await beginFullPass(sync, null)
  await restartUnselected(sync)
  let due = await planRound(sync)
  if (due.position) noteServerTime(result, due.position.after)
  if (due.isEverything) await store.commit([], checkpoint.settle())
  if (await applyRemovals(sync, due, result)) due = everything(due.position)
  if (due.isEverything) lacking.clear()
  if (due.tenants) await readTenants(sync, result)
  for (const tenantId of selectedTenants(sync)) {
    for (const list of tenantListNames) {
      if (!checkpoint.tenants.has(tenantId)) break
      if (!isListSelected(sync, list)) continue
      if (!due.list(tenantId, list)) {
        if (checkpoint.list(tenantId, list).refused) await refuse(sync, tenantId, list, result)
        continue
      }
      if (!lacking.has(list)) await readOrSkip(sync, tenantId, list, result)
      if (lacking.has(list)) await refuse(sync, tenantId, list, result)
    }
  }
  for (const [list, message] of lacking) {
    if (selection.lists !== null) result.unreadable.push(`The ${listTitle(list)} cannot be read: ${message}`)
    else if (!sync.skipped.has(list)) sync.report({ event: 'skipped', list, message })
    sync.skipped.add(list)
  }
  for (const tenantId of selection.tenants ?? []) {
    if (!checkpoint.tenants.has(tenantId)) {
      result.unreadable.push(`The token is not authorised for tenant ${tenantId}, or there is no such tenant.`)
    }
  }
  if (due.position && checkpoint.copy && !(due.isNothing && isRecent(sync, result))) {
    const changes = { ...due.position, after: result.serverTime, known: checkpoint.tenants.size }
    await store.commit([], checkpoint.setCopy({ ...checkpoint.copy, changes }))
  }
  // Even after a round that read nothing: a killed round may have left its commits unpublished.
  await store.publish()
  return result
}

/** The position of a copy is written at this interval while nothing changes, in milliseconds. */
const positionInterval = 20_000

const isRecent = ({ checkpoint }: Sync, { serverTime }: RoundResult) =>
  Date.parse(serverTime) - Date.parse(checkpoint.copy?.changes?.after ?? '') < positionInterval

/** Step 1: drops the records that left the lists. @returns whether a full pass has begun */
async function applyRemovals(sync: Sync, due: RoundPlan, result: RoundResult): Promise<boolean> {
  for (const tenantId of selectedTenants(sync)) {
    if (!sync.checkpoint.tenants.has(tenantId) || !due.removals(tenantId)) continue
    const outcome = await readRemovals(sync, tenantId, result)
    if (outcome === 'gone') await dropTenant(sync, tenantId)
    if (outcome === 'full pass') {
      await beginFullPass(sync, 'the service was restored, or no longer knows all removals since the last round.')
      return true
    }
  }
  return false
}

/**
 * Step 2: reads the whole list of tenants, because a new grant of a tenant does not change the tenant's record. A
 * tenant that is absent is not dropped: it may have changed while the list was read.
 */
async function readTenants(sync: Sync, result: RoundResult): Promise<void> {
  const { checkpoint, source, store } = sync
  let removalsSince: string | undefined
  for await (const { records, serverTime } of source.tenants()) {
    removalsSince ??= serverTime
    const bound = removalsSince
    noteServerTime(result, serverTime)
    const selected = records.filter(({ id }) => isSelected(sync, id))
    const added = selected.filter(({ id }) => !checkpoint.tenants.has(id))
    const positions = new Map<string, unknown>()
    for (const { id } of added) {
      // Resets all lists in one commit: if the sync stops before it reads them, the copy shows that it is not in step.
      const lists = tenantListNames.filter(list => isListSelected(sync, list)).map(list => [list, newListState])
      const state: TenantState = { removals: { bound, reading: null }, lists: Object.fromEntries(lists) }
      for (const [key, value] of checkpoint.setTenant(id, state)) positions.set(key, value)
    }
    const changes: Change[] = [
      // A copy whose checkpoint was damaged has records of a tenant that it does not know, some of which may be gone.
      ...added.map(({ id }) => ({ kind: 'drop' as const, tenantId: id })),
      ...selected.map(record => ({
        kind: 'put' as const,
        list: 'tenants' as const,
        tenantId: record.id,
        pass: 0,
        records: [record],
      })),
    ]
    await store.commit(changes, positions)
    sync.stop.throwIfAborted()
  }
}

/** Step 3 for one list. When the token lacks the permission of the list, records this for the report. */
async function readOrSkip(sync: Sync, tenantId: number, list: TenantListName, result: RoundResult): Promise<void> {
  try {
    await readList(sync, tenantId, list, result)
  } catch (error) {
    if (!isGone(error)) throw error
    if (await fetchTenantAccess(sync, tenantId)) sync.lacking.set(list, messageOf(error))
    else await dropTenant(sync, tenantId)
  }
}

/**
 * Keeps the records of a list that the token may not read any more: the list is read again when the token regains the
 * permission.
 */
async function refuse(sync: Sync, tenantId: number, list: TenantListName, result: RoundResult): Promise<void> {
  const { checkpoint, store } = sync
  const state = checkpoint.tenants.get(tenantId)?.lists[list]
  if (!state) return
  if (!hasBegun(state)) return store.commit([], checkpoint.leaveOut(tenantId, list))
  if (!state.refused) await store.commit([], checkpoint.setList(tenantId, list, restartList(state, true)))
  result.unreadable.push(
    `The token may not read the ${listTitle(list)} of tenant ${tenantId} any more: the list in the copy is not in step. ` +
      'Grant the permission again, or name the other lists with --list and delete these.',
  )
}

async function dropTenant({ checkpoint, store, report }: Sync, tenantId: number): Promise<void> {
  await store.commit([{ kind: 'drop', tenantId }], checkpoint.dropTenants([tenantId]))
  report({ event: 'left', tenant: tenantId })
}

/**
 * Resets unfinished passes over lists that are not selected now. A directory publishes at the end of a round, and
 * cannot sweep records that it has published in the same pass.
 */
async function restartUnselected(sync: Sync): Promise<void> {
  const { checkpoint, store } = sync
  for (const [tenantId, { lists }] of checkpoint.tenants) {
    for (const list of tenantListNames) {
      const state = lists[list]
      if (!state || state.swept || (isSelected(sync, tenantId) && isListSelected(sync, list))) continue
      if (!hasBegun(state)) await store.commit([], checkpoint.leaveOut(tenantId, list))
      else if (state.bound !== null || state.reading !== null)
        await store.commit([], checkpoint.setList(tenantId, list, restartList(state)))
    }
  }
}
