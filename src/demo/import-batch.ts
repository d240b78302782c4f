import { type Day, type Micros, microsOfDay, second } from './calendar.ts'
import { Draw } from './random.ts'
import { type Seller, slots } from './tenant.ts'

/** How many rows an import brings in; more than two pages of a list. */
const importSize = 120

/** What the rows of an import have in common. */
export interface Batch {
  seller: Seller
  /** All of its rows bear this one stamp. */
  stamp: Micros
}

/** @returns the import that brought a row in, or null as for most rows */
export function findImport(stream: string, row: number, today: Day): Batch | null {
  const block = Math.floor(row / importSize)
  if (block % 8 !== 3) return null
  const draw = new Draw(`${stream} import`, block)
  const stamp = (today - draw.between(30, 600)) * microsOfDay + draw.below(86_400) * second + draw.below(second)
  // The first import is that of the first tenant, and so there is one at any scale.
  return { seller: slots[(block >> 3) % slots.length]!, stamp }
}
