import { type Day, instantText, microsOfDay, second } from './calendar.ts'
import type { Row } from './copy-rows.ts'
import { type DemoTenant, tenants } from './data/tenants.ts'
import { Draw } from './random.ts'

/** A tenant with its id. */
export interface Seller extends DemoTenant {
  id: number
}

const sellers: readonly Seller[] = tenants.map((tenant, index) => ({ ...tenant, id: index + 1 }))

/** Every tenant as often as it weighs: who picks one by chance picks the big ones more often. */
export const slots: readonly Seller[] = sellers.flatMap(seller => Array<Seller>(seller.weight).fill(seller))

/** The slots of a tenant are side by side; this is the first of them. */
export const firstSlotOf: ReadonlyMap<number, number> = new Map(
  sellers.map(seller => [seller.id, slots.indexOf(seller)]),
)

/** @returns the tenants that sell */
export const listSellers = () => sellers.filter(seller => seller.weight > 0)

/** @returns how many there are */
export const countTenants = () => sellers.length

/** @returns the rows of `tenant`, parents first */
export function* tenantRows(today: Day): Generator<Row> {
  for (const { id, parent, name, subdomain, type, timeZone } of sellers) {
    const draw = new Draw('tenant', id)
    // Every third was last touched when all of them were moved to a new system.
    const daysAgo = id % 3 === 0 ? 400 : draw.between(20, 700)
    const time = id % 3 === 0 ? 0 : draw.below(86_400) * second + draw.below(second)
    const updated_at = instantText((today - daysAgo) * microsOfDay + time)
    yield { id, parent_id: parent, name, subdomain, type, time_zone: timeZone, updated_at }
  }
}
