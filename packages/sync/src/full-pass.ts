/**
 * Begins a full pass: all lists are read from their beginning, and then records that are no longer in them are
 * deleted.
 */
import { tenantListNames } from '#client'
import { restartList, type TenantState, tenantKey } from './checkpoint.ts'
import { isGone } from './service-error.ts'
import type { Sync } from './sync.ts'

/**
 * Resets the checkpoint in one commit. The records stay until the pass over their list is done.
 *
 * @param reason why, as a sentence; null for the first pass of a copy
 */
export async function beginFullPass(sync: Sync, reason: string | null): Promise<void> {
  const { checkpoint, source, store, report } = sync
  if (reason !== null) report({ event: 'full_pass', reason })
  // The epoch is read first: when it grows after this read, the next round notices it.
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

/** Drops tenants that only a damaged copy has: the checkpoint does not know them. */
export async function dropUnknownTenants({ checkpoint, store }: Sync): Promise<void> {
  const found = new Set((await store.counts()).map(({ tenantId }) => tenantId))
  const unknown = [...found].filter(tenantId => !checkpoint.tenants.has(tenantId))
  await store.commit(
    unknown.map(tenantId => ({ kind: 'drop', tenantId })),
    new Map(),
  )
}

/** Reads the identity of the service, which any tenant of the token reports; null for a token without tenants. */
export async function readIdentity({ source }: Pick<Sync, 'source'>) {
  for (const { id } of (await source.firstTenants()).records) {
    try {
      return await source.readIdentity(id)
    } catch (error) {
      // The tenant has just left the token's scope.
      if (!isGone(error)) throw error
    }
  }
  return null
}
