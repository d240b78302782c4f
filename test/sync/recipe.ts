/** Clients that keep a whole copy by the recipe of docs/syncing.md: lists and removals, for all tenants of a token. */
import type postgres from '#postgres'
import { arrayText } from '../../src/db/sql.ts'
import { type PassTimes, readPass, upsert } from './clients.ts'
import { type Ask, type CopiedRecord, type List, lists, RequestError } from './lists.ts'

export type RecipeResumption = 'first page' | 'last page'

export interface CopiedList {
  list: List
  records: Map<string, CopiedRecord>
  /** The bound of the next pass; null before the first one. */
  since: string | null
}

export interface CopiedTenant {
  record: CopiedRecord
  lists: CopiedList[]
  /** The bound of the next pass over its removals. */
  removalsSince: string
}

const find = (name: string) => lists.find(list => list.name === name)!
const [tenantList, removalList] = [find('tenants'), find('removals')]
/** The lists that each tenant has, without its removals. */
export const recordLists = lists.filter(({ ofTenant, resource }) => ofTenant && resource !== null)

export type RecipeClient = ReturnType<typeof createRecipeClient>

/**
 * Creates a client of all that a token may read. It follows the recipe, and compares no stamps.
 *
 * @param askFor how a list of a tenant is read; the list of tenants ignores the tenant
 */
export function createRecipeClient(askFor: (list: List, tenant: number) => Ask, resumption: RecipeResumption) {
  const copy = new Map<string, CopiedTenant>()
  const counts = { passes: 0, received: 0, repeated: 0 }
  let tenantsSince: string | null = null
  const bound = ({ first, last }: PassTimes) => (resumption === 'first page' ? first : last)

  function remove(tenant: CopiedTenant, { resource, id }: CopiedRecord): void {
    if (resource === tenantList.resource) copy.delete(String(id))
    else tenant.lists.find(({ list }) => list.resource === resource)?.records.delete(String(id))
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
      counts.received += 1
      const known = copy.get(record.key)
      if (known?.record.image === record.image) counts.repeated += 1
      if (known) {
        known.record = record
      } else {
        const empty = recordLists.map(list => ({ list, records: new Map<string, CopiedRecord>(), since: null }))
        const tenant = { record, lists: empty, removalsSince: '' }
        copy.set(record.key, tenant)
        found.push(tenant)
      }
    })
    tenantsSince = bound(times)
    for (const tenant of found) tenant.removalsSince = times.first

    await eachTenant(
      async tenant => {
        for (const copied of tenant.lists) {
          const ask = askFor(copied.list, tenant.record.id)
          copied.since = bound(await readPass(ask, copied.since, record => upsert(copied.records, record, counts)))
        }
        // The removals of the next round decide whether the tenant left.
      },
      () => {},
    )
    counts.passes += 1
  }
  return { copy, counts, round }
}

/**
 * Creates the control of the removals: it keeps ids of vouchers, and deletes each that has a removal, although it may have
 * come back.
 *
 * @param askFor how the vouchers of a tenant are read
 * @returns one round, and the vouchers that it deleted and will not read again
 */
export function createRemovalsControl(sql: postgres.Sql, askFor: (tenant: number) => Ask, tenants: readonly number[]) {
  const copy = new Set<string>()
  const lost = new Set<string>()
  const bounds = new Map<number, string>()
  const listed = arrayText(tenants)
  let since = '-infinity'

  async function round() {
    const removals = await sql<{ id: string; stamp: string }[]>`
      select id::text, updated_at::text as stamp from gateway.removal
      where tenant_id = any(${listed}::text::bigint[]) and record = 'voucher' and updated_at > ${since}::text::timestamptz
      order by updated_at`
    since = removals.at(-1)?.stamp ?? since
    for (const { id } of removals) copy.delete(id)
    for (const tenant of tenants) {
      const { first } = await readPass(askFor(tenant), bounds.get(tenant) ?? null, ({ key }) => copy.add(key))
      bounds.set(tenant, first)
    }
    const deleted = removals.map(({ id }) => id).filter(id => !copy.has(id))
    const back = await sql<{ id: string }[]>`
      select id::text from gateway.voucher
      where id = any(${arrayText(deleted)}::text::bigint[]) and tenant_id = any(${listed}::text::bigint[])
        and updated_at < ${since}::text::timestamptz`
    for (const { id } of back) lost.add(id)
  }
  return { round, lost }
}
