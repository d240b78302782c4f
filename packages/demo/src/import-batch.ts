import type { Day, Microseconds } from './calendar.ts'
import { Random } from './random.ts'
import { type Seller, slots } from './tenant.ts'

/** The number of rows of an import: more than two pages of a list. */
const importSize = 120

/** An import of many rows at once. */
export interface ImportBatch {
  seller: Seller
  /** The `updated_at` of all its rows. */
  stamp: Microseconds
}

/**
 * Returns the import that loaded a row, or null, as for most rows.
 *
 * @param stream the table's random stream, for example `voucher`
 */
export function findImport(stream: string, row: number, today: Day): ImportBatch | null {
  const block = Math.floor(row / importSize)
  if (block % 8 !== 3) return null
  const random = new Random(`${stream} import`, block)
  const stamp = random.instantOf(today - random.between(30, 600))
  // The first import belongs to the first tenant, so that every scale has one.
  return { seller: slots[(block >> 3) % slots.length]!, stamp }
}
