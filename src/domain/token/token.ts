import { arrayText, type Sql } from '../../db/sql.ts'
import { isValidSession } from '../administrator/session.ts'
import { notFound } from '../errors.ts'
import type { Instant } from '../value/instant.ts'
import type { Permission } from './permission.ts'

/** A tenant that a token is authorised for (R21). */
export interface TenantGrant {
  tenantId: number
  /** True when the grant includes all tenants below this one. */
  withDescendants: boolean
}

/** The properties of a bearer token that requests need. The secret itself is not stored. */
export interface Token {
  id: number
  name: string
  permissions: Permission[]
  tenants: TenantGrant[]
  /** The rate limit in quota units per minute; null for the default of the service. */
  rateLimit: number | null
  expiresAt: Instant | null
}

/** The properties of a token that an administrator sees. */
export interface TokenRecord extends Token {
  /**
   * The grants, with the names of the tenants. The name is null as long as the tenant does not exist; then the grant
   * has no effect.
   */
  tenants: (TenantGrant & { name: string | null })[]
  /** The person at the partner who is responsible for the token. */
  contact: string | null
  /** The first eight and last four characters of the secret. */
  hint: string
  createdAt: Instant
  createdBy: string
  revokedAt: Instant | null
  /** True when the session of the token has ended; false for a token without a session. */
  sessionEnded: boolean
  /** True when the token has expired by the clock of the database, which is the same for all instances. */
  isExpired: boolean
  lastUsedAt: Instant | null
  lastUsedAddress: string | null
  /** The token that this token replaces, and the token that replaces this token. */
  rotatedFrom: number | null
  rotatedTo: number | null
  /**
   * Increases with each edit. The number of edits. Each edit must name the revision on which it is based (optimistic
   * locking).
   */
  revision: number
}

export type TokenStatus = 'active' | 'expired' | 'revoked'

/** The properties that the status of a token depends on. */
export type TokenValidity = Pick<TokenRecord, 'revokedAt' | 'sessionEnded' | 'isExpired'>

/** Returns the status of a token at the moment when it was read. */
export function tokenStatus({ revokedAt, sessionEnded, isExpired }: TokenValidity): TokenStatus {
  if (revokedAt) return 'revoked'
  return sessionEnded || isExpired ? 'expired' : 'active'
}

/**
 * Returns the condition that the session of a token has ended. The condition has no `exists`, because its plan may read
 * all sessions.
 */
export const sessionEnded = (sql: Sql) => sql`coalesce(
  (select false from gateway.session where session.id_hash = token.session_hash and ${isValidSession(sql)}),
  token.session_hash is not null)`

/** Returns the condition that a token has expired. */
export const isExpired = (sql: Sql) => sql`coalesce(token.expires_at <= now(), false)`

/** Returns the columns that both the authentication and the API access page read. */
export const tokenColumns = (sql: Sql) => sql`
  token.id, token.name, array_to_json(token.permissions) as permissions, token.rate_limit as "rateLimit",
  token.expires_at as "expiresAt", token.revoked_at as "revokedAt",
  ${sessionEnded(sql)} as "sessionEnded", ${isExpired(sql)} as "isExpired"`

/** Returns the SQL of a token's grants as JSON. */
export const grantsOf = (sql: Sql) => sql`
  coalesce((select json_agg(json_build_object('tenantId', tenant_id, 'withDescendants', with_descendants) order by tenant_id)
            from gateway.token_tenant where token_id = token.id), '[]')`

/** Returns the columns of a token that an administrator sees. */
export const recordColumns = (sql: Sql) => sql`
  ${tokenColumns(sql)}, contact, hint, created_at as "createdAt", created_by as "createdBy",
  last_used_at as "lastUsedAt", last_used_address as "lastUsedAddress", rotated_from as "rotatedFrom", revision,
  (select successor.id from gateway.token successor where successor.rotated_from = token.id) as "rotatedTo",
  coalesce((select json_agg(json_build_object('tenantId', tenant_id, 'withDescendants', with_descendants,
                                              'name', tenant.name) order by tenant_id)
            from gateway.token_tenant left join gateway.tenant on tenant.id = tenant_id where token_id = token.id), '[]') as tenants`

/** Returns a token by id, or throws `NOT_FOUND`. */
export async function getToken(sql: Sql, id: number): Promise<TokenRecord> {
  const [token] = await sql<TokenRecord[]>`
    select /* token.get */ ${recordColumns(sql)} from gateway.token where id = ${id}`
  if (!token) throw notFound('token')
  return token
}

/** Returns the tokens with these ids, with their grants. Ids without a token are left out. */
export async function readTokens(sql: Sql, ids: readonly number[]): Promise<Map<number, Token>> {
  const tokens = await sql<Token[]>`
    select /* token.read_many */ ${tokenColumns(sql)}, ${grantsOf(sql)} as tenants
    from gateway.token where id = any(${arrayText(ids)}::text::bigint[])`
  return new Map(tokens.map(token => [token.id, token]))
}
