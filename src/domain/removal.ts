import { packed } from '../db/packed.ts'
import type { ListIdentity } from './cursor.ts'
import { type Holding, holding } from './holding.ts'
import type { Instant } from './instant.ts'

/** What a record was. */
export const removalResources = ['tenant', 'catalog_voucher', 'purchased_voucher', 'marketing_signup'] as const

export type RemovalResource = (typeof removalResources)[number]

/** A record that left a list, so that copies can follow. No personal data. */
export interface Removal {
  id: number
  tenantId: number
  resource: RemovalResource
  recordId: number
  reason: 'deleted' | 'consent_withdrawn'
  /** When it was removed; ordered and stamped as the stamps of records are. */
  updatedAt: Instant
}

export const removalList = (tenantId: number): ListIdentity => ({ name: 'removals', tenantId })

const removalRow = packed<Removal>({
  id: ['id', 'integer'],
  tenantId: ['tenant_id', 'integer'],
  resource: ['resource', 'text'],
  recordId: ['record_id', 'integer'],
  reason: ['reason', 'text'],
  updatedAt: ['updated_at', 'instant'],
})

const holdings = new Map<string, Holding<Removal>>()

/** What left the lists of these resources: the same holding for the same choice of them. */
export function removalsOf(resources: readonly RemovalResource[]): Holding<Removal> {
  const values = removalResources.filter(resource => resources.includes(resource))
  const choice = values.join()
  const known =
    holdings.get(choice) ??
    holding<Removal>({
      name: 'removal',
      table: 'gateway.removal',
      row: removalRow,
      among: { column: 'resource', values },
    })
  holdings.set(choice, known)
  return known
}
