import { type Day, instantText, microsecondsPerDay, second } from './calendar.ts'
import type { Row } from './copy-rows.ts'
import { type DemoTenant, tenants } from './data/tenants.ts'
import { Random } from './random.ts'

/** A tenant of the demo data, with its id. */
export interface Seller extends DemoTenant {
  id: number
}

const sellers: readonly Seller[] = tenants.map((tenant, index) => ({ ...tenant, id: index + 1 }))

/** Each tenant once per unit of its weight, so that a random pick prefers large tenants. */
export const slots: readonly Seller[] = sellers.flatMap(seller => Array<Seller>(seller.weight).fill(seller))

/** The index of each tenant's first slot, by tenant id; its other slots follow. */
export const firstSlotOf: ReadonlyMap<number, number> = new Map(
  sellers.map(seller => [seller.id, slots.indexOf(seller)]),
)

/** Returns the tenants that sell products. */
export const listSellers = () => sellers.filter(seller => seller.weight > 0)

/** Returns the number of tenants. */
export const countTenants = () => sellers.length

/** Yields the rows of `tenant`, parents first. */
export function* tenantRows(today: Day): Generator<Row> {
  for (const { id, parent, name, subdomain, type, timeZone } of sellers) {
    const random = new Random('tenant', id)
    // Every third tenant has the stamp of a migration that changed many tenants at once.
    const daysAgo = id % 3 === 0 ? 400 : random.between(20, 700)
    const time = id % 3 === 0 ? 0 : random.below(86_400) * second + random.below(second)
    const updated_at = instantText((today - daysAgo) * microsecondsPerDay + time)
    yield { id, parent_id: parent, name, subdomain, type, time_zone: timeZone, updated_at }
  }
}
