import type { RecordType } from '../domain/record/resource.ts'
import { listPermissions, type Permission } from '../domain/token/permission.ts'
import type { Token } from '../domain/token/token.ts'
import type { Context } from './context.ts'
import type { GlobalId } from './global-id.ts'
import { requirePermissions } from './policy.ts'

/** A type of records, and how the schema fetches one. */
export interface NodeType extends RecordType {
  /** The noun for a removed record of this type, for the description of the type's value in `RemovalResource`. */
  removedRecord: string
  /** Fetches a record of a tenant that the caller may see. Returns null when there is none. */
  find(context: Context, place: GlobalId): Promise<object | null>
}

/** Returns the name of the GraphQL type for a noun: `PurchasedVoucher` for `purchased voucher`. */
export const typeNameOf = (noun: string): string => noun.replaceAll(/(?:^| )./g, start => start.trim().toUpperCase())

const nodeTypes = new Map<string, NodeType>()
let isListed = false

/** Adds a type. @throws when the schema has already listed the types, because parts of it would lack this type */
export function addNodeType(nodeType: NodeType): void {
  const type = typeNameOf(nodeType.noun)
  if (isListed) throw new Error(`schema.ts must import the file of ${type} before removal.ts.`)
  nodeTypes.set(type, nodeType)
}

/** Returns the type of this name; undefined when its records have no global ids. */
export const findNodeType = (type: string): NodeType | undefined => nodeTypes.get(type)

/** Returns all types. No type can be added after this call. */
export function listNodeTypes(): readonly NodeType[] {
  isListed = true
  return [...nodeTypes.values()]
}

/**
 * Returns the types that a caller asks for; when the caller names none, all types that the caller's token may read.
 *
 * @param wanted names of types of records, as the database stores them; null for all types
 * @throws `FORBIDDEN` with the first permission that the token lacks
 */
export function permittedTypes(context: Context, wanted: readonly string[] | null | undefined): readonly NodeType[] {
  if (!wanted) return typesOf(context.caller.token)
  const asked = listNodeTypes().filter(({ record }) => wanted.includes(record))
  for (const { permissions } of asked) requirePermissions(context, permissions)
  return asked
}

/** Returns the types that a token is permitted to read. */
export const typesOf = ({ permissions: held }: Token): readonly NodeType[] =>
  listNodeTypes().filter(({ permissions }) => permissions.every(name => held.includes(name)))

/**
 * Returns the sentence that names the permissions of a field, for the field's description; empty when the field needs
 * no permission.
 */
export const describePermissions = (permissions: readonly Permission[]): string =>
  permissions.length > 0 ? ` Needs ${listPermissions(permissions)}.` : ''
