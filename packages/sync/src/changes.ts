/**
 * Decides which lists a round reads. The service names the changed lists, so a round without changes is one request.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import { type ListChanges, type TenantListName, tenantListNames } from '#client'
import { type ChangePosition, isInStep } from './checkpoint.ts'
import { isGone, lacksChangesQuery, messageOf, needsFullPass } from './service-error.ts'
import { isListSelected, type Sync, selectedTenants } from './sync.ts'

/** The tenants, lists and removals that a round reads. */
export interface RoundPlan {
  /** The position of the copy after the round; null when the service cannot answer `changes`. */
  position: ChangePosition | null
  /** True when the round reads all lists and removals. */
  isEverything: boolean
  /** True when the round has nothing to read. */
  isNothing: boolean
  tenants: boolean
  removals(tenantId: number): boolean
  list(tenantId: number, list: TenantListName): boolean
}

/** Returns the plan of a round that reads all lists and removals. */
export const planFullRound = (position: ChangePosition | null): RoundPlan => ({
  position,
  ...{ isEverything: true, isNothing: false, tenants: true, removals: () => true, list: () => true },
})

/**
 * The time after which all processes of the service use changed grants and permissions, in milliseconds. A process
 * caches a token for half a second, so a new `access` can arrive before all processes use it.
 */
export const accessDelay = 1_000

/** A time after all changes. A copy without a position sends this time, and gets only the current position. */
const afterAllChanges = '9999-12-31T00:00:00Z'

/**
 * Requests the changes since the position of the copy, and plans the round. A round reads all lists when the copy has
 * no position, when the epoch, the access of the token or the selection of the sync has changed, or when the copy has
 * another number of tenants.
 */
export async function planRound(sync: Sync): Promise<RoundPlan> {
  const { checkpoint, selection, lacking } = sync
  const former = checkpoint.copy?.changes ?? null
  const found = await readChanges(sync, former?.after ?? afterAllChanges)
  if (found === null) return planFullRound(null)
  const position = {
    after: found.serverTime,
    access: found.access,
    tenants: selection.tenants && [...selection.tenants].sort(),
    lists: selection.lists && [...selection.lists].sort(),
    known: checkpoint.tenants.size,
  }
  const isSame = isDeepStrictEqual({ ...former, after: found.serverTime }, position)
  if (!isSame || found.epoch !== checkpoint.copy?.epoch) {
    // Without this pause, the next request could reach a process that still leaves out a new tenant, and no later round
    // would read this tenant.
    if (found.access !== former?.access) await pause(accessDelay, undefined, { signal: sync.stop })
    return planFullRound(position)
  }
  // The service names only lists that the token may read, so an earlier error 403 came from a proxy, or is no longer
  // valid.
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
      // Skips a list that the token may not read. Each run whose command names the list tries it again.
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
    // The round then reads all lists, gets the same error from the removals, and handles it there.
    if (needsFullPass(error) || isGone(error)) return null
    if (!lacksChangesQuery(error)) throw error
    if (changes.refuse()) report({ event: 'no_changes', message: messageOf(error) })
    return null
  }
}
