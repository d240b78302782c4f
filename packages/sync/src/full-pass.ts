/**
 * Begins a full pass: the sync reads all lists from their beginning, and then deletes records that are no longer in the
 * lists.
 */
import { tenantListNames } from '#client'
import { restartList, type TenantState, tenantKey } from './checkpoint.ts'
import { isGone } from './service-error.ts'
import type { Sync } from './sync.ts'

/**
 * Resets the checkpoint in one commit. The records of a list stay until the pass over this list is complete.
 *
 * @param reason the reason as a sentence; null for the first pass of a copy
 */
export async function beginFullPass(sync: Sync, reason: string | null): Promise<void> {
  const { checkpoint, source, store, report } = sync
  if (reason !== null) report({ event: 'full_pass', reason })
  // Reads the epoch before the lists, so that the next round notices when the epoch grows in between.
  const { serviceId = null, epoch = null } = (await readIdentity(sync)) ?? {}
  const { serverTime } = await source.firstTenants()
  const positions = new Map<string, unknown>(
    checkpoint.setCopy({ source: source.url, service: serviceId, epoch, changes: null }),
  )
  for (const [tenantId, { lists }] of checkpoint.tenants) {
    const state: TenantState = { removals: { bound: serverTime, reading: null }, lists: {} }
    for (const list of tenantListNames) {
      if (lists[list]) state.lists[list] = restartList(lists[list], lists[list].refused)
    }
    checkpoint.setTenant(tenantId, state)
    positions.set(tenantKey(tenantId), state)
  }
  await store.commit([], positions)
}

/** Drops tenants that the copy has but the checkpoint does not: such tenants exist only in a damaged copy. */
export async function dropUnknownTenants({ checkpoint, store }: Sync): Promise<void> {
  const found = new Set((await store.counts()).map(({ tenantId }) => tenantId))
  const unknown = [...found].filter(tenantId => !checkpoint.tenants.has(tenantId))
  await store.commit(
    unknown.map(tenantId => ({ kind: 'drop', tenantId })),
    new Map(),
  )
}

/** Reads the id and the epoch of the service through any tenant of the token; null for a token without tenants. */
export async function readIdentity({ source }: Pick<Sync, 'source'>) {
  for (const { id } of (await source.firstTenants()).records) {
    try {
      return await source.readIdentity(id)
    } catch (error) {
      // The token has just lost access to this tenant, so the next tenant is tried.
      if (!isGone(error)) throw error
    }
  }
  return null
}
