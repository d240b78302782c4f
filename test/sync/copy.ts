/** The copy of a client: the tenants of its token, with the records of their lists. */
import { type TenantListName, tenantLists, VoucherGatewayError } from '../../packages/client/src/index.ts'
import type { CopiedRecord } from './lists.ts'

/** A copied list, by the keys of its records. */
export interface CopiedList {
  copy: Map<string, CopiedRecord>
}

export interface CopiedTenant<List extends CopiedList = CopiedList> {
  record: CopiedRecord
  lists: ReadonlyMap<TenantListName, List>
}

export type Copy = Map<string, CopiedTenant>

/** Returns whether a tenant is deleted, or the token is no longer authorised for it. */
export const isGone = (error: unknown): boolean =>
  error instanceof VoucherGatewayError && ['NOT_FOUND', 'FORBIDDEN'].includes(error.code)

/** Drops what a removal of a tenant reports: a tenant below it, or a record of one of its lists. */
export function applyRemoval(copy: Copy, tenant: CopiedTenant | undefined, { resource, id }: CopiedRecord): void {
  if (resource === 'TENANT') copy.delete(String(id))
  for (const [list, { copy: records }] of tenant?.lists ?? [])
    if (tenantLists[list].removal === resource) records.delete(String(id))
}
