import type { Sql } from '../db/connect.ts'
import { notFound } from './errors.ts'
import { parseIdentifier } from './identifier.ts'
import type { Instant } from './instant.ts'
import type { Permission } from './permission.ts'

/** A tenant that a token is authorised for (R21). */
export interface TenantGrant {
  tenantId: number
  /** Whether the grant includes all tenants below this one. */
  withDescendants: boolean
}

/** A bearer token as requests use it. The secret itself is not stored. */
export interface Token {
  id: number
  name: string
  permissions: Permission[]
  tenants: TenantGrant[]
  /** Operations a minute; null: the default of the service. */
  rateLimit: number | null
  expiresAt: Instant | null
}

/** A token as an administrator sees it. */
export interface TokenRecord extends Token {
  tenants: (TenantGrant & { name: string })[]
  /** The person at the partner who is responsible for it. */
  contact: string | null
  /** The first eight and last four characters of the secret. */
  hint: string
  createdAt: Instant
  createdBy: string
  revokedAt: Instant | null
  lastUsedAt: Instant | null
  lastUsedAddress: string | null
  /** The token that this one replaces, and the token that replaces this one. */
  rotatedFrom: number | null
  rotatedTo: number | null
  /** Increases with each edit. An edit names the revision that it was made from (optimistic locking). */
  revision: number
}

/** All statuses of a token. */
export const tokenStatuses = ['active', 'expired', 'revoked'] as const

/** The status of a token. */
export type TokenStatus = (typeof tokenStatuses)[number]

/** Returns the status of a token at this moment. */
export function tokenStatus({ revokedAt, expiresAt }: Pick<TokenRecord, 'revokedAt' | 'expiresAt'>): TokenStatus {
  if (revokedAt) return 'revoked'
  return expiresAt && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'active'
}

/** The columns that both the authentication and the API access page read. */
export const tokenColumns = (sql: Sql) => sql`
  token.id, token.name, array_to_json(token.permissions) as permissions, token.rate_limit as "rateLimit",
  token.expires_at as "expiresAt", token.revoked_at as "revokedAt"`

/** Filters of the list of tokens; a token must match all that are given. */
export interface TokenFilter {
  /** Part of the name, the contact, the creator or the hint, in any case. */
  search?: string
  status?: TokenStatus
  permission?: Permission
  /** A tenant that the token may access: its id, or part of its name, in any case. */
  tenant?: string
}

const recordColumns = (sql: Sql) => sql`
  ${tokenColumns(sql)}, contact, hint, created_at as "createdAt", created_by as "createdBy",
  last_used_at as "lastUsedAt", last_used_address as "lastUsedAddress", rotated_from as "rotatedFrom", revision,
  (select successor.id from gateway.token successor where successor.rotated_from = token.id) as "rotatedTo",
  coalesce((select json_agg(json_build_object('tenantId', tenant_id, 'withDescendants', with_descendants,
                                              'name', tenant.name) order by tenant_id)
            from gateway.token_tenant join tenant on tenant.id = tenant_id where token_id = token.id), '[]') as tenants`

/**
 * Returns at most `limit` tokens, newest first, with revoked and expired ones.
 *
 * @param before lists tokens older than this id
 * @param after lists the tokens next newer than this id, in place of `before`
 */
export async function listTokens(
  sql: Sql,
  { filter = {}, before, after, limit }: { filter?: TokenFilter; before?: number; after?: number; limit: number },
): Promise<TokenRecord[]> {
  const { search = '', status, permission, tenant } = filter
  const ended = sql`(expires_at is not null and expires_at <= now())`
  const statusIs = {
    active: sql`and revoked_at is null and not ${ended}`,
    expired: sql`and revoked_at is null and ${ended}`,
    revoked: sql`and revoked_at is not null`,
  }
  const tokens = await sql<TokenRecord[]>`
    select /* token.list */ ${recordColumns(sql)}
    from gateway.token
    where ${after === undefined ? sql`id < ${before ?? Number.MAX_SAFE_INTEGER}` : sql`id > ${after}`}
      and position(lower(${search}) in lower(concat_ws(' ', name, contact, created_by, hint))) > 0
      ${status ? statusIs[status] : sql``}
      ${permission ? sql`and ${permission} = any(permissions)` : sql``}
      ${tenant ? sql`and id in (${tokensReaching(sql, tenant)})` : sql``}
    order by id ${after === undefined ? sql`desc` : sql`asc`} limit ${limit}`
  return after === undefined ? tokens : tokens.reverse()
}

/** Selects the ids of tokens with a grant for a matching tenant, or for one above it with its descendants. */
const tokensReaching = (sql: Sql, tenant: string) => sql`
  with recursive above as (
    select id, parent_id, true as is_match from tenant
    where id = ${parseIdentifier(tenant)} or position(lower(${tenant}) in lower(name)) > 0
    union
    select tenant.id, tenant.parent_id, false from tenant join above on tenant.id = above.parent_id
  )
  select token_id from gateway.token_tenant join above on above.id = tenant_id
  where above.is_match or with_descendants`

/** Returns a token by id, or throws `NOT_FOUND`. */
export async function getToken(sql: Sql, id: number): Promise<TokenRecord> {
  const [token] = await sql<TokenRecord[]>`
    select /* token.get */ ${recordColumns(sql)} from gateway.token where id = ${id}`
  if (!token) throw notFound('token')
  return token
}
