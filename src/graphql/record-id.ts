import { notFound } from '../domain/errors.ts'
import { parseIdentifier } from '../domain/identifier.ts'

/** A record by its type and its tenant. For a tenant and for a category, `tenantId` and `id` are equal. */
export interface RecordPlace {
  /** The name of its GraphQL type, as the caller wrote it. */
  type: string
  tenantId: number
  id: number
}

/** The longest text that is decoded, in characters. A field below a list decodes its argument for each record. */
const maxGlobalIdLength = 100

/** Encodes a global id: the name of the GraphQL type, and a key that identifies a record of this type. */
export const encodeGlobalId = (type: string, key: string | number | bigint) =>
  Buffer.from(`${type}:${key}`).toString('base64url')

/** Returns the key of a record in its global id. Records are read through their tenant, so the key names both. */
export const recordKey = (record: { tenantId: number; id: number }) => `${record.tenantId}.${record.id}`

function parseGlobalId(text: string): RecordPlace | null {
  if (text.length > maxGlobalIdLength) return null
  const [type = '', key = '', ...more] = Buffer.from(text, 'base64url').toString().split(':')
  const hasOneId = type === 'Tenant' || type === 'Category'
  const ids = key.split('.').map(parseIdentifier)
  const [tenantId = null, id = hasOneId ? tenantId : null] = ids
  if (tenantId === null || id === null || more.length > 0) return null
  return ids.length === (hasOneId ? 1 : 2) ? { type, tenantId, id } : null
}

/**
 * The value of an `ID` argument. The transport parses it once: REST reads ids from a path, where they are numeric (R7),
 * and GraphQL in the scalar `ID`, which accepts numeric and global ids. A text that is not an id names no record.
 */
export class RecordId {
  private constructor(
    /** The numeric id; null when the text is not a numeric id. */
    readonly numeric: number | null,
    /** The record that a global id names; null for a numeric id and for a text that is no id. */
    readonly global: RecordPlace | null,
  ) {}

  static parseNumeric(text: string): RecordId {
    return new RecordId(parseIdentifier(text), null)
  }

  /** Parses a numeric or a global id. */
  static parse(text: string): RecordId {
    const numeric = parseIdentifier(text)
    return new RecordId(numeric, numeric === null ? parseGlobalId(text) : null)
  }

  /** Returns the numeric id of the record, of any tenant; null when this id can name no record of the type. */
  idOf(type: string): number | null {
    return this.numeric ?? (this.global?.type === type ? this.global.id : null)
  }

  /** Returns the numeric id of the record; null when this id can name no record of the type and the tenant. */
  idWithin(type: string, tenantId: number): number | null {
    if (this.numeric !== null) return this.numeric
    return this.global?.type === type && this.global.tenantId === tenantId ? this.global.id : null
  }
}

/** Returns the numeric id of the tenant that an argument names. @throws `NOT_FOUND` when it names none (R7, R19) */
export function requireTenantId(argument: unknown): number {
  if (argument instanceof RecordId) {
    const { numeric, global } = argument
    if (numeric !== null) return numeric
    if (global?.type === 'Tenant') return global.id
  }
  throw notFound('tenant')
}
