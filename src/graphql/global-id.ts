import { notFound } from '../domain/errors.ts'
import { parseIdentifier } from '../domain/value/identifier.ts'

/**
 * The parts of a global id: the type, the tenant and the id of a record. For a tenant and for a category, `tenantId`
 * and `id` are equal.
 */
export interface GlobalId {
  /** The name of its GraphQL type, as the caller wrote it. */
  type: string
  tenantId: number
  id: number
}

/**
 * The maximum length of a global id, in characters. It is short, because a field below a list decodes its argument once
 * per record.
 */
const maxGlobalIdLength = 100

/** Encodes a global id: the name of the GraphQL type, and a key that identifies a record of this type. */
export const encodeGlobalId = (type: string, key: string | number | bigint) =>
  Buffer.from(`${type}:${key}`).toString('base64url')

/** Returns the key of a record in its global id, with its tenant, because records are read through their tenant. */
export const recordKey = (record: { tenantId: number; id: number }) => `${record.tenantId}.${record.id}`

/** Decodes a global id. Returns null for a text that is not a global id, even for a numeric id. */
export function parseGlobalId(text: string): GlobalId | null {
  if (text.length > maxGlobalIdLength) return null
  const [type = '', key = '', ...more] = Buffer.from(text, 'base64url').toString().split(':')
  const hasOneId = type === 'Tenant' || type === 'Category'
  const ids = key.split('.').map(parseIdentifier)
  const [tenantId = null, id = hasOneId ? tenantId : null] = ids
  if (tenantId === null || id === null || more.length > 0) return null
  return ids.length === (hasOneId ? 1 : 2) ? { type, tenantId, id } : null
}

/**
 * Returns the numeric id of the record that an `ID` argument names. The argument is a numeric id or a global id.
 *
 * @param type the name of the record's GraphQL type
 * @param tenantId the tenant of the record; undefined to allow a global id of any tenant
 * @returns null when the text cannot be the id of such a record
 */
export function recordIdIn(text: string, type: string, tenantId?: number): number | null {
  const numeric = parseIdentifier(text)
  if (numeric !== null) return numeric
  const place = parseGlobalId(text)
  return place?.type === type && (tenantId ?? place.tenantId) === place.tenantId ? place.id : null
}

/**
 * Returns the numeric id of the tenant that an argument names.
 *
 * @throws `NOT_FOUND` when the argument cannot be the id of a tenant (R7, R19)
 */
export function requireTenantId(argument: unknown): number {
  const id = typeof argument === 'string' ? recordIdIn(argument, 'Tenant') : null
  if (id === null) throw notFound('tenant')
  return id
}
