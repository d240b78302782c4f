/** Clients that keep a whole copy by the recipe of docs/syncing.md: lists and removals, for all tenants of a token. */
import type postgres from '#postgres'
import { arrayText } from '../../src/db/sql.ts'
import { type PassTimes, readPass, upsert } from './clients.ts'
import { type Ask, type CopiedRecord, instant, type List, lists, RequestError } from './lists.ts'

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

export type NaiveRecipeClient = ReturnType<typeof createNaiveRecipeClient>

/**
 * Creates the control of the removals: it keeps records by their id only, and deletes every record that has a removal. It
 * reads the lists from the service, and the removals from their table.
 */
export function createNaiveRecipeClient(
  sql: postgres.Sql,
  askFor: (list: List, tenant: number) => Ask,
  tenants: readonly number[],
) {
  /** The records of each list, by the list's name. */
  const copy = new Map(recordLists.map(({ name }) => [name, new Map<string, CopiedRecord>()]))
  const counts = { passes: 0, received: 0, repeated: 0 }
  const bounds = new Map<string, string>()
  /** The vouchers that it deleted and will not read again, although they were inserted again. */
  const lost = new Set<string>()
  let removalsSince = '-infinity'

  async function round() {
    const [watermark] = await sql.unsafe<{ at: string }[]>(
      `select ${instant('watermark')} at from gateway.watermark() as watermark`,
    )
    const entries = await sql<{ resource: string; id: string }[]>`
      select upper(resource) resource, record_id::text id from gateway.removal
      where tenant_id = any(${arrayText(tenants)}::text::bigint[]) and updated_at >= ${removalsSince}::text::timestamptz
        and updated_at < ${watermark!.at}::text::timestamptz
      order by updated_at, id`
    removalsSince = watermark!.at
    for (const { resource, id } of entries) {
      const list = recordLists.find(list => list.resource === resource)
      if (list) copy.get(list.name)?.delete(id)
    }
    for (const tenant of tenants) {
      for (const list of recordLists) {
        const key = `${list.name} ${tenant}`
        const accept = (record: CopiedRecord) => upsert(copy.get(list.name)!, record, counts)
        bounds.set(key, (await readPass(askFor(list, tenant), bounds.get(key) ?? null, accept)).first)
      }
    }
    const deleted = entries.filter(
      ({ resource, id }) => resource === 'PURCHASED_VOUCHER' && !copy.get('vouchers')?.has(id),
    )
    const back = await sql<{ id: string }[]>`
      select id::text from purchased_voucher
      where id = any(${arrayText(deleted.map(({ id }) => id))}::text::bigint[])
        and tenant_id = any(${arrayText(tenants)}::text::bigint[]) and updated_at < ${removalsSince}::text::timestamptz`
    for (const { id } of back) lost.add(id)
    counts.passes += 1
  }
  return { copy, counts, lost, round }
}
