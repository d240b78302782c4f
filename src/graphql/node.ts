import { notFound, orNotFound } from '../domain/errors.ts'
import { parseIdentifier } from '../domain/identifier.ts'
import type { Permission } from '../domain/permission.ts'
import type { Context } from './context.ts'
import { isNodeType, type NodeType, parseRecordKey } from './global-id.ts'
import { requirePermissions } from './policy.ts'

/** What a token must be permitted to read records of a type: as a list, by id or by global id. */
export const permissionsFor = {
  Tenant: [],
  CatalogVoucher: ['view_vouchers'],
  PurchasedVoucher: ['view_vouchers', 'view_orders'],
  MarketingSignup: ['export_customer_information'],
} as const satisfies Record<NodeType, readonly Permission[]>

const find = {
  Tenant: async (_context, tenantId) => ({ id: tenantId }),
  CatalogVoucher: async ({ loaders }, tenantId, id) => loaders.products.records.load({ tenantId, id }),
  PurchasedVoucher: async ({ loaders }, tenantId, id) => loaders.vouchers.records.load({ tenantId, id }),
  MarketingSignup: async ({ loaders }, tenantId, id) => loaders.signups.records.load({ tenantId, id }),
} satisfies Record<NodeType, (context: Context, tenantId: number, id: number) => Promise<object | null>>

interface GlobalId {
  typename: string
  id: string | number
}

/** A record that the caller may ask for, if there is one. */
interface Place {
  typename: NodeType
  tenantId: number
  id: number
}

/** @throws `FORBIDDEN`, `NOT_FOUND` */
async function findPlace(context: Context, { typename, id: key }: GlobalId): Promise<Place> {
  if (!isNodeType(typename)) throw notFound('record')
  requirePermissions(context, permissionsFor[typename])
  const { tenantId, id } =
    typename === 'Tenant' ? { tenantId: parseIdentifier(String(key)), id: 0 } : parseRecordKey(String(key))
  const path = await context.scope.findPath(tenantId)
  if (!path || !context.scope.covers(context.caller.token, path)) throw notFound('record')
  return { typename, tenantId, id }
}

async function findAt(context: Context, { typename, tenantId, id }: Place): Promise<object> {
  const record = orNotFound('record')(await find[typename](context, tenantId, id))
  return Object.assign(record, { __typename: typename })
}

/**
 * Fetches a record by its global id, through its tenant as v1 does.
 *
 * @throws `FORBIDDEN` when the token lacks a permission; `NOT_FOUND` for a record that is absent, that lies in a
 *   tenant the token is not authorised for, or that the text does not name
 */
export async function findNode(context: Context, id: GlobalId): Promise<object> {
  return findAt(context, await findPlace(context, id))
}

/** @returns the records in the order of their global ids, each on its own: one that is refused leaves the others */
export function findNodes(context: Context, ids: readonly GlobalId[]): Promise<object>[] {
  const places = ids.map(id => findPlace(context, id))
  // Some tenants are known at once, others are not: records are asked for when all are, and so together.
  const placed = Promise.allSettled(places)
  return places.map(place => placed.then(async () => findAt(context, await place)))
}
