/**
 * A client that updates a copy by events (R36): it reads a list only when an event names the list, from the instant in
 * the event.
 */
import { tenantListNames, tenantLists } from '../../packages/client/src/index.ts'
import { applyRemoval, type Copy, isGone, readPass } from './clients.ts'
import type { Ask, ListName } from './lists.ts'

/** The fields of an event of a webhook or stream that the client uses. */
export interface ListEvent {
  type: string
  tenant_id: number
  updated_since: string | null
}

/**
 * Creates the client. @param askFor returns a reader of a list of a tenant; for the list of tenants, the tenant is
 * ignored
 */
export function createEventClient(askFor: (list: ListName, tenant: number) => Ask) {
  const copy: Copy = new Map()
  let work = Promise.resolve()

  /** Deletes a tenant from the copy when it is gone at the time of the read. */
  const unlessGone = (tenant: number, read: () => Promise<void>) =>
    read().catch(error => {
      if (!isGone(error)) throw error
      copy.delete(String(tenant))
    })

  async function readTenants(since: string | null): Promise<void> {
    const found = new Set<string>()
    const added: number[] = []
    await readPass(askFor('tenants', 0), since, record => {
      const known = copy.get(record.key)
      found.add(record.key)
      if (known) known.record = record
      else {
        copy.set(record.key, { record, lists: new Map(tenantListNames.map(list => [list, { copy: new Map() }])) })
        added.push(record.id)
      }
    })
    if (since === null) for (const key of copy.keys()) if (!found.has(key)) copy.delete(key)
    for (const tenant of added) {
      await unlessGone(tenant, async () => {
        for (const list of tenantListNames) await readList(list, tenant, null)
      })
    }
  }

  async function readList(list: (typeof tenantListNames)[number], tenant: number, since: string | null) {
    const records = copy.get(String(tenant))?.lists.get(list)?.copy
    // The lists of an unknown tenant are read when an event names the tenant.
    if (!records) return
    if (since === null) records.clear()
    await readPass(askFor(list, tenant), since, record => records.set(record.key, record))
  }

  async function handle({ type, tenant_id: tenant, updated_since: since }: ListEvent): Promise<void> {
    const list = tenantListNames.find(name => tenantLists[name].event === type)
    if (!list && type !== 'tenants.changed') throw new Error(`There is no list for the event ${type}.`)
    await unlessGone(tenant, async () => {
      if (since !== null) {
        await readPass(askFor('removals', tenant), since, removal =>
          applyRemoval(copy, copy.get(String(tenant)), removal),
        )
      }
      if (list) await readList(list, tenant, since)
    })
    if (!list) await readTenants(since)
  }

  return {
    copy,
    /** Reads all lists once, before the first event. */
    begin: () => readTenants(null),
    /** Applies an event after all earlier events. */
    take(event: ListEvent): Promise<void> {
      work = work.then(() => handle(event))
      return work
    },
    /** Resolves when all events are applied. @throws the first error */
    settled: () => work,
  }
}
