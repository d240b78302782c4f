import { type DemoTenant, tenants } from './data/tenants.ts'
import type { Row } from './row.ts'

export interface Seller extends DemoTenant {
  id: number
}

/** All tenants, parents first. */
export const sellers: readonly Seller[] = tenants.map((tenant, index) => ({ ...tenant, id: index + 1 }))

/** Contains each tenant once per unit of its weight, so that a random element is more often a large tenant. */
export const slots: readonly Seller[] = sellers.flatMap(seller => Array<Seller>(seller.weight).fill(seller))

/** The index of the first slot of each tenant, by tenant id. The other slots of the tenant follow directly. */
export const firstSlotOf: ReadonlyMap<number, number> = new Map(
  sellers.map(seller => [seller.id, slots.indexOf(seller)]),
)

/** Yields the rows of `tenant`. */
export function* tenantRows(): Generator<Row> {
  for (const { id, parent, name, subdomain, type, timeZone } of sellers) {
    yield { id, parent_id: parent, name, subdomain, type, time_zone: timeZone }
  }
}
