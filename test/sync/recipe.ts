/**
 * Clients that copy the lists and removals of all tenants of a token, by the recipe of docs/guides/keeping-in-step.md.
 */
import { tenantListNames } from '../../packages/client/src/index.ts'
import {
  applyRemoval,
  type CopiedTenant,
  createSyncClient,
  isGone,
  type Resumption,
  readPass,
  type SyncClient,
} from './clients.ts'
import type { Ask, ListName } from './lists.ts'

interface FollowedTenant extends CopiedTenant<SyncClient> {
  /** The stamp from which the next pass reads the removals of the tenant. */
  removalsSince: string
}

/**
 * Creates a client that copies everything that its token may read. As the recipe says, it compares no stamps.
 *
 * @param askFor returns a reader of a list of a tenant; for the list of tenants, the tenant is ignored
 * @param resumption how the lists of a tenant resume. With `newest record`, removals and the list of tenants resume
 * from the last page
 */
export function createRecipeClient(askFor: (list: ListName, tenant: number) => Ask, resumption: Resumption) {
  const copy = new Map<string, FollowedTenant>()
  let tenantsSince: string | null = null
  const bound = ({ first, last }: { first: string; last: string }) => (resumption === 'first page' ? first : last)

  /**
   * Visits each tenant of the copy, unless a removal of another tenant has deleted it meanwhile.
   *
   * @param gone called for a tenant that is deleted, or that the token no longer includes
   */
  async function eachTenant(visit: (tenant: FollowedTenant) => Promise<void>, gone: (key: string) => void) {
    for (const [key, tenant] of [...copy]) {
      if (copy.get(key) !== tenant) continue
      await visit(tenant).catch(error => {
        if (!isGone(error)) throw error
        gone(key)
      })
    }
  }

  /** Runs one round: removals, then the list of tenants, then the lists of each tenant. */
  async function round() {
    await eachTenant(
      async tenant => {
        const ask = askFor('removals', tenant.record.id)
        const times = await readPass(ask, tenant.removalsSince, removal => applyRemoval(copy, tenant, removal))
        tenant.removalsSince = bound(times)
      },
      key => copy.delete(key),
    )

    const found: FollowedTenant[] = []
    const times = await readPass(askFor('tenants', 0), tenantsSince, record => {
      const known = copy.get(record.key)
      if (known) {
        known.record = record
        return
      }
      const lists = tenantListNames.map(list => [list, createSyncClient(askFor(list, record.id), resumption)] as const)
      const tenant = { record, lists: new Map(lists), removalsSince: '' }
      copy.set(record.key, tenant)
      found.push(tenant)
    })
    tenantsSince = bound(times)
    for (const tenant of found) tenant.removalsSince = times.first

    await eachTenant(
      async tenant => {
        for (const client of tenant.lists.values()) await client.pass()
        // If the tenant is gone, the removals of the next round decide whether it left.
      },
      () => {},
    )
  }
  return { copy, round }
}
