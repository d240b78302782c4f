/** Clients that keep a whole copy by the recipe of docs/guides/keeping-in-step.md: lists and removals, for all tenants of a token. */
import { createSyncClient, type PassTimes, type Resumption, readPass, type SyncClient } from './clients.ts'
import { type Ask, type CopiedRecord, type List, lists, RequestError } from './lists.ts'

interface CopiedTenant {
  record: CopiedRecord
  lists: { list: List; client: SyncClient }[]
  /** The bound of the next pass over its removals. */
  removalsSince: string
}

const find = (name: string) => lists.find(list => list.name === name)!
const [tenantList, removalList] = [find('tenants'), find('removals')]
export const recordLists = lists.filter(({ ofTenant, resource }) => ofTenant && resource !== null)

export type RecipeClient = ReturnType<typeof createRecipeClient>

/**
 * Creates a client of all that a token may read. It follows the recipe, and compares no stamps.
 *
 * @param askFor how a list of a tenant is read; the list of tenants ignores the tenant
 * @param resumption of the lists of tenants; removals and the list of tenants have no newest record, and resume from the last page
 */
export function createRecipeClient(askFor: (list: List, tenant: number) => Ask, resumption: Resumption) {
  const copy = new Map<string, CopiedTenant>()
  let tenantsSince: string | null = null
  const bound = ({ first, last }: PassTimes) => (resumption === 'first page' ? first : last)

  function remove(tenant: CopiedTenant, { resource, id }: CopiedRecord): void {
    if (resource === tenantList.resource) copy.delete(String(id))
    else tenant.lists.find(({ list }) => list.resource === resource)?.client.copy.delete(String(id))
  }

  /**
   * Visits each tenant that is still in the copy when its turn comes: a removal of another tenant may have dropped it.
   *
   * @param gone called for a tenant that is deleted, or that the token is no longer authorised for
   */
  async function eachTenant(visit: (tenant: CopiedTenant) => Promise<void>, gone: (key: string) => void) {
    for (const [key, tenant] of [...copy]) {
      if (copy.get(key) !== tenant) continue
      await visit(tenant).catch(error => {
        if (!(error instanceof RequestError) || !['NOT_FOUND', 'FORBIDDEN'].includes(error.code)) throw error
        gone(key)
      })
    }
  }

  /** Runs one round: removals, then the list of tenants, then the lists of each tenant. */
  async function round() {
    await eachTenant(
      async tenant => {
        const ask = askFor(removalList, tenant.record.id)
        const times = await readPass(ask, tenant.removalsSince, entry => remove(tenant, entry))
        tenant.removalsSince = bound(times)
      },
      key => copy.delete(key),
    )

    const found: CopiedTenant[] = []
    const times = await readPass(askFor(tenantList, 0), tenantsSince, record => {
      const known = copy.get(record.key)
      if (known) {
        known.record = record
      } else {
        const empty = recordLists.map(list => ({ list, client: createSyncClient(askFor(list, record.id), resumption) }))
        const tenant = { record, lists: empty, removalsSince: '' }
        copy.set(record.key, tenant)
        found.push(tenant)
      }
    })
    tenantsSince = bound(times)
    for (const tenant of found) tenant.removalsSince = times.first

    await eachTenant(
      async tenant => {
        for (const { client } of tenant.lists) await client.pass()
        // The removals of the next round decide whether the tenant left.
      },
      () => {},
    )
  }
  return { copy, round }
}
