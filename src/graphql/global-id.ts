import { parseIdentifier } from '../domain/identifier.ts'

/** The types whose records can be fetched again by their global id. */
const nodeTypes = ['Tenant', 'CatalogVoucher', 'PurchasedVoucher', 'MarketingSignup'] as const

export type NodeType = (typeof nodeTypes)[number]

/** @returns whether the word names one of them */
export const isNodeType = (word: string): word is NodeType => nodeTypes.some(type => type === word)

/** @returns the global id: type and key, opaque to clients */
export const encodeGlobalId = (type: string, key: string | number | bigint) =>
  Buffer.from(`${type}:${key}`).toString('base64url')

/** No global id is longer, in characters. A field below a list decodes the same argument for each record of the list. */
const longestGlobalId = 100

/** @returns the type and the key; both empty when the text is no global id of a record that can be fetched */
export function decodeGlobalId(text: string): { typename: string; id: string } {
  if (text.length > longestGlobalId) return { typename: '', id: '' }
  const [typename = '', id = '', ...more] = Buffer.from(text, 'base64url').toString().split(':')
  return isNodeType(typename) && more.length === 0 ? { typename, id } : { typename: '', id: '' }
}

/** The key of a record within its global id: records are reached through their tenant, so it names both. */
export const recordKey = (record: { tenantId: number; id: number }) => `${record.tenantId}.${record.id}`

/** @returns tenant and record of a key; ids that no record has when the key is malformed */
export function parseRecordKey(key: string): { tenantId: number; id: number } {
  const [tenantId = '', id = '', ...more] = key.split('.')
  return more.length === 0 ? { tenantId: parseIdentifier(tenantId), id: parseIdentifier(id) } : { tenantId: 0, id: 0 }
}

/** @returns the tenant's numeric id in an `ID` argument, which may be numeric or global; 0 when it names no tenant */
export function readTenantId(text: string): number {
  const numeric = parseIdentifier(text)
  if (numeric) return numeric
  const { typename, id } = decodeGlobalId(text)
  return typename === 'Tenant' ? parseIdentifier(id) : 0
}

/** @returns the record's numeric id in an `ID` argument, which may be numeric or global; 0 when it is not this tenant's */
export function readRecordId(type: NodeType, tenantId: number, text: string): number {
  const numeric = parseIdentifier(text)
  if (numeric) return numeric
  const { typename, id: key } = decodeGlobalId(text)
  const record = parseRecordKey(key)
  return typename === type && record.tenantId === tenantId ? record.id : 0
}
