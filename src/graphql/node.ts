import { badInput, notFound } from '../domain/errors.ts'
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

/** @returns a function that gives the record that was found, and throws `NOT_FOUND` when there is none */
export const orNotFound =
  (what: string) =>
  <Row>(row: Row | null): Row => {
    if (row === null) throw notFound(what)
    return row
  }

const find = {
  Tenant: async (_context, tenantId) => ({ id: tenantId }),
  CatalogVoucher: async ({ loaders }, tenantId, id) => loaders.products.records.load({ tenantId, id }),
  PurchasedVoucher: async ({ loaders }, tenantId, id) => loaders.vouchers.records.load({ tenantId, id }),
  MarketingSignup: async ({ loaders }, tenantId, id) => loaders.signups.records.load({ tenantId, id }),
} satisfies Record<NodeType, (context: Context, tenantId: number, id: number) => Promise<object | null>>

/** The most records that one `nodes` may ask for. */
export const maxNodes = 100

interface GlobalId {
  typename: string
  id: string | number
}

const placeOf = ({ typename, id }: GlobalId): { tenantId: number; id: number } =>
  typename === 'Tenant' ? { tenantId: parseIdentifier(String(id)), id: 0 } : parseRecordKey(String(id))

/**
 * Fetches a record by its global id, through its tenant as v1 does.
 *
 * @throws `FORBIDDEN` when the token lacks a permission; `NOT_FOUND` for a record that is absent, that lies in a
 *   tenant the token is not authorised for, or that the text does not name
 */
export async function findNode(context: Context, { typename, id: key }: GlobalId): Promise<object> {
  if (!isNodeType(typename)) throw notFound('record')
  requirePermissions(context, permissionsFor[typename])
  const { tenantId, id } = placeOf({ typename, id: key })
  const path = await context.scope.findPath(tenantId)
  if (!path || !context.scope.covers(context.caller.token, path)) throw notFound('record')
  const record = orNotFound('record')(await find[typename](context, tenantId, id))
  return Object.assign(record, { __typename: typename })
}

/**
 * @returns the records in the order of their global ids, each on its own: one that is refused leaves the others
 * @throws `BAD_USER_INPUT` for more ids than 100
 */
export function findNodes(context: Context, ids: readonly GlobalId[]): Promise<object>[] {
  if (ids.length > maxNodes) throw badInput({ ids: [`Ask for at most ${maxNodes} records.`] })
  // Where all of them are is known before any is asked for: so they are asked for together.
  const placed = Promise.allSettled(ids.map(id => context.scope.findPath(placeOf(id).tenantId)))
  return ids.map(id => placed.then(() => findNode(context, id)))
}
