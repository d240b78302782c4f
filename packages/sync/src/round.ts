/**
 * One round of the steps in docs/guides/keeping-in-step.md: removals, then the list of tenants, then the lists of each
 * tenant. After the first round, each round reads only the changes since the round before.
 */
import { type TenantListName, tenantListNames } from '#client'
import { planFullRound, planRound, type RoundPlan } from './changes.ts'
import { hasBegun, newListState, restartList, type TenantState } from './checkpoint.ts'
import { beginFullPass } from './full-pass.ts'
import { readList } from './list-reader.ts'
import { listTitle } from './lists.ts'
import { fetchTenantAccess, readRemovals } from './removals.ts'
import { isGone, messageOf } from './service-error.ts'
import type { Change } from './store.ts'
import { isListSelected, isSelected, noteServerTime, type RoundResult, type Sync, selectedTenants } from './sync.ts'

/**
 * Applies all changes that the service published before the round to the copy.
 *
 * @throws VoucherGatewayError, or the reason of the stop signal. The copy then stays at its last checkpoint.
 */
export async function runRound(sync: Sync): Promise<RoundResult> {
  const { checkpoint, store, selection, lacking } = sync
  const result: RoundResult = { received: 0, removed: 0, beganAnew: false, serverTime: '', unreadable: [] }
  if (checkpoint.copy?.epoch == null) await beginFullPass(sync, null)
  await restartUnselected(sync)
  let due = await planRound(sync)
  if (due.position) noteServerTime(result, due.position.after)
  if (due.isEverything) await store.commit([], checkpoint.settle())
  if (await applyRemovals(sync, due, result)) due = planFullRound(due.position)
  if (due.isEverything) lacking.clear()
  if (due.tenants) await readTenants(sync, result)
  for (const tenantId of selectedTenants(sync)) {
    for (const list of tenantListNames) {
      if (!checkpoint.tenants.has(tenantId)) break
      if (!isListSelected(sync, list)) continue
      if (!due.list(tenantId, list)) {
        if (checkpoint.list(tenantId, list).refused) await keepRefusedList(sync, tenantId, list, result)
        continue
      }
      if (!lacking.has(list)) await readOrSkip(sync, tenantId, list, result)
      if (lacking.has(list)) await keepRefusedList(sync, tenantId, list, result)
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
  // Publishes even after a round that read nothing, because a killed round may have left unpublished commits.
  await store.publish()
  return result
}

/** While nothing changes, the position of the copy is written at this interval, in milliseconds. */
const positionInterval = 20_000

const isRecent = ({ checkpoint }: Sync, { serverTime }: RoundResult) =>
  Date.parse(serverTime) - Date.parse(checkpoint.copy?.changes?.after ?? '') < positionInterval

/** Step 1: deletes the records that left the lists of each tenant. @returns whether a full pass has begun */
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
 * Step 2: reads the whole list of tenants, because a new grant of a tenant does not change the tenant's record. Does
 * not drop a tenant that the list lacks: a tenant that changes during the reading can be missing.
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
      // Resets all lists in one commit, so that the copy does not count as in step if the sync stops before it reads
      // the lists.
      const lists = tenantListNames.filter(list => isListSelected(sync, list)).map(list => [list, newListState])
      const state: TenantState = { removals: { bound, reading: null }, lists: Object.fromEntries(lists) }
      for (const [key, value] of checkpoint.setTenant(id, state)) positions.set(key, value)
    }
    const changes: Change[] = [
      // After damage to the checkpoint, the copy may have records of this tenant that the service has already deleted.
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

/**
 * Step 3 for one list: reads its changes. When the token lacks the permission for the list, adds the list to the result
 * of the round.
 */
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
 * Keeps the records of a list that the token may no longer read. When the token regains the permission, the list is
 * read again.
 */
async function keepRefusedList(sync: Sync, tenantId: number, list: TenantListName, result: RoundResult): Promise<void> {
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
 * Resets incomplete passes over lists that this sync does not select. A directory store publishes at the end of each
 * round, and cannot sweep records that it has published in the same pass.
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
