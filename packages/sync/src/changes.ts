/** Finds the lists that a round has to read: the service names the changed lists, so a round without changes is one request. */
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type ListChanges, type TenantListName, tenantListNames } from '#client'
import { type ChangePosition, isInStep } from './checkpoint.ts'
import { isGone, lacksChangesQuery, messageOf, needsFullPass } from './service-error.ts'
import { isListSelected, type Sync, selectedTenants } from './sync.ts'

/** The parts that a round reads. */
export interface RoundPlan {
  /** The position of the copy after the round; null: the service names no changes. */
  position: ChangePosition | null
  /** True when everything is read. */
  isEverything: boolean
  /** True when there is nothing to read. */
  isNothing: boolean
  tenants: boolean
  removals(tenantId: number): boolean
  list(tenantId: number, list: TenantListName): boolean
}

/** Makes a round read everything. */
export const everything = (position: ChangePosition | null): RoundPlan => ({
  position,
  ...{ isEverything: true, isNothing: false, tenants: true, removals: () => true, list: () => true },
})

/**
 * A process of the service keeps a token for half a second. After an answer with another `access`, all processes use
 * the new grants and permissions after this many milliseconds.
 */
export const accessDelay = 1_000

/** The position after all changes: a copy without a position asks only for this position. */
const afterAllChanges = '9999-12-31T00:00:00Z'

/**
 * Asks what changed since the position of the copy. A round reads everything when the copy has no position, the rights
 * of the token or the selection of the sync have changed, or the copy has lost a tenant.
 */
export async function planRound(sync: Sync): Promise<RoundPlan> {
  const { checkpoint, selection, lacking } = sync
  const former = checkpoint.copy?.changes ?? null
  const found = await readChanges(sync, former?.after ?? afterAllChanges)
  if (found === null) return everything(null)
  const position = {
    after: found.serverTime,
    access: found.access,
    tenants: selection.tenants && [...selection.tenants].sort(),
    lists: selection.lists && [...selection.lists].sort(),
    known: checkpoint.tenants.size,
  }
  const isSame = isDeepStrictEqual({ ...former, after: found.serverTime }, position)
  if (!isSame || found.epoch !== checkpoint.copy?.epoch) {
    // Without this pause, another process of the service could still leave out a new tenant, and no later round would
    // read this tenant.
    if (found.access !== former?.access) await pause(accessDelay, undefined, { signal: sync.stop })
    return everything(position)
  }
  // The service names only lists that the token may read. A faulty proxy can make a permission seem to be missing.
  for (const { list } of found.lists) if (list !== 'tenants') lacking.delete(list)
  const changed = new Set(found.lists.map(({ tenantId, list }) => `${tenantId} ${list}`))
  const changedTenants = new Set(found.lists.map(({ tenantId }) => tenantId))
  const due = {
    position,
    tenants: found.lists.some(({ list }) => list === 'tenants'),
    removals: (tenantId: number) =>
      changedTenants.has(tenantId) || checkpoint.tenants.get(tenantId)?.removals.reading != null,
    list: (tenantId: number, list: TenantListName) => {
      const state = checkpoint.tenants.get(tenantId)?.lists[list]
      // A list that the token may not read is left out, and asked for again by each run whose command names it.
      const isUnread = state ? !isInStep(state) && !state.refused : selection.lists?.has(list) && !lacking.has(list)
      return (isUnread ?? false) || changed.has(`${tenantId} ${list}`)
    },
  }
  const isRead = (tenantId: number) =>
    !due.removals(tenantId) && !tenantListNames.some(list => isListSelected(sync, list) && due.list(tenantId, list))
  return { ...due, isEverything: false, isNothing: changed.size === 0 && selectedTenants(sync).every(isRead) }
}

async function readChanges({ source, changes, report }: Sync, after: string): Promise<ListChanges | null> {
  if (!changes.available) return null
  try {
    const found = await source.changes(after)
    changes.take(found)
    return found
  } catch (error) {
    // A round that reads everything gets the same answer from the removals, and handles it.
    if (needsFullPass(error) || isGone(error)) return null
    if (!lacksChangesQuery(error)) throw error
    if (changes.refuse()) report({ event: 'no_changes', message: messageOf(error) })
    return null
  }
}
