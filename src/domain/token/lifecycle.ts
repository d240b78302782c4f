import { arrayText, type Sql } from '../../db/sql.ts'
import { type Actor, auditEntry } from '../administrator/audit.ts'
import { badInput, notFound, throwIfErrors } from '../errors.ts'
import { hashSecret } from '../secret/hash.ts'
import { checkTokenInput, normalizeTokenInput, type TokenInput } from './input.ts'
import { createTokenSecret, secretHint } from './secret.ts'
import { getToken, type TenantGrant, tokenStatus } from './token.ts'

type NewToken = TokenInput & {
  expiresAt: Date | null
  /** The id of an administrator's session. The token ends when the session ends. */
  sessionId?: string
}

const unknownTenants = (ids: string | null) => badInput({ tenants: [`No such tenant: ${ids}.`] })

/**
 * Returns two relations: `wanted(tenant_id, with_descendants)` of the grants, and `unknown(tenant_id)` of the tenants
 * in the grants that do not exist.
 *
 * @param holder the id of a token that may keep its existing grants of absent tenants; null for a new token
 */
const wantedGrants = (sql: Sql, tenants: TenantGrant[], holder: number | null) => sql`
  wanted as (
    select * from unnest(${arrayText(tenants.map(grant => grant.tenantId))}::text::bigint[],
                         ${arrayText(tenants.map(grant => grant.withDescendants))}::text::boolean[])
                  as wanted(tenant_id, with_descendants)
  ), unknown as (
    select tenant_id from wanted where not exists (select from gateway.tenant where tenant.id = wanted.tenant_id)
      and not exists (select from gateway.token_tenant held
                      where held.token_id = ${holder}::bigint and held.tenant_id = wanted.tenant_id)
  )`

/** A new token. The database does not store the secret, so the secret cannot be read again. */
export interface CreatedToken {
  id: number
  secret: string
}

/** The token that an earlier call with the same idempotency key has created. */
export interface AlreadyCreated {
  id: number
  secret: null
}

/** Returns the token that an earlier call with the idempotency key has created, or null. */
export async function findCreatedToken(sql: Sql, idempotencyKey: string | undefined): Promise<AlreadyCreated | null> {
  if (idempotencyKey === undefined) return null
  const [token] = await sql<{ id: number }[]>`
    select /* token.find_by_idempotency_key */ id from gateway.token where idempotency_key = ${idempotencyKey}`
  return token ? { id: token.id, secret: null } : null
}

/**
 * Creates a token.
 *
 * @param token the properties of the token; `expiresAt` is null for a token that never expires
 * @param idempotencyKey all calls with the same key, at all instances, create only one token
 * @throws `BAD_USER_INPUT` with the errors of `name`, `contact`, `rateLimit`, `tenants`, `expiresAt`
 */
export function createToken(sql: Sql, actor: Actor, token: NewToken): Promise<CreatedToken>
export function createToken(
  sql: Sql,
  actor: Actor,
  token: NewToken,
  idempotencyKey: string,
): Promise<CreatedToken | AlreadyCreated>
export async function createToken(
  sql: Sql,
  actor: Actor,
  token: NewToken,
  idempotencyKey?: string,
): Promise<CreatedToken | AlreadyCreated> {
  const input = normalizeTokenInput(token)
  throwIfErrors({ ...checkTokenInput(input), ...checkExpiry(token.expiresAt) })
  const secret = createTokenSecret()
  const expiresAt = token.expiresAt?.toISOString() ?? null
  const sessionHash = token.sessionId === undefined ? null : hashSecret(token.sessionId)
  const detail = JSON.stringify({ ...input, expiresAt })
  const [created] = await sql<[{ id: number | null; unknown: string | null }]>`
    with /* token.create */ ${wantedGrants(sql, input.tenants, null)}, created as (
      insert into gateway.token (
        name, contact, token_hash, hint, permissions, rate_limit, created_by, expires_at, idempotency_key,
        session_hash)
      select ${input.name}, ${input.contact}::text, ${hashSecret(secret)}, ${secretHint(secret)},
             ${arrayText(input.permissions)}::text::text[], ${input.rateLimit}::integer, ${actor.name},
             ${expiresAt}::text::timestamptz, ${idempotencyKey ?? null}::text, ${sessionHash}::bytea
      where not exists (select from unknown)
      on conflict (idempotency_key) do nothing
      returning id
    ), granted as (
      insert into gateway.token_tenant (token_id, tenant_id, with_descendants)
      select created.id, wanted.tenant_id, wanted.with_descendants from created, wanted
    ), audited as (
      ${auditEntry(sql, actor, 'token.create', sql`created.id, ${detail}::text::jsonb from created`)}
    )
    select (select id from created) as id, (select string_agg(tenant_id::text, ', ') from unknown) as unknown`
  if (created.id) return { id: created.id, secret }
  const existing = await findCreatedToken(sql, idempotencyKey)
  if (existing) return existing
  throw unknownTenants(created.unknown)
}

/** Returns an error of `expiresAt` when it is not in the future; otherwise no error. */
export const checkExpiry = (expiresAt: Date | null) =>
  expiresAt !== null && !(expiresAt.getTime() > Date.now()) ? { expiresAt: ['Give a time in the future.'] } : {}

/**
 * Changes the properties of a token. All instances apply the change within a second.
 *
 * @param revision the revision on which the edit is based; null matches no revision
 * @throws `NOT_FOUND`; `BAD_USER_INPUT` with the errors of `name`, `contact`, `rateLimit`, `tenants`, or of `revision`
 * when the token has another revision or is not active
 */
export async function editToken(
  sql: Sql,
  actor: Actor,
  id: number,
  revision: number | null,
  changed: TokenInput,
): Promise<void> {
  const input = normalizeTokenInput(changed)
  throwIfErrors(checkTokenInput(input))
  const token = await getToken(sql, id)
  if (tokenStatus(token) !== 'active') throw badInput({ revision: ['This token is not active and cannot be changed.'] })
  const changedSince = badInput({ revision: ['Another administrator has changed this token in the meantime.'] })
  if (token.revision !== revision) throw changedSince
  const before = normalizeTokenInput(token)
  const changes = Object.fromEntries(
    inputNames
      .filter(name => JSON.stringify(before[name]) !== JSON.stringify(input[name]))
      .map(name => [name, { from: before[name], to: input[name] }]),
  )
  if (Object.keys(changes).length === 0) return
  const [edited] = await sql<[{ id: number | null; unknown: string | null }]>`
    with /* token.edit */ ${wantedGrants(sql, input.tenants, id)}, edited as (
      update gateway.token
      set name = ${input.name}, contact = ${input.contact}::text,
          permissions = ${arrayText(input.permissions)}::text::text[], rate_limit = ${input.rateLimit}::integer,
          revision = revision + 1
      where id = ${id} and revision = ${revision} and not exists (select from unknown)
      returning id
    ), withdrawn as (
      delete from gateway.token_tenant
      where token_id in (select id from edited) and tenant_id not in (select tenant_id from wanted)
    ), granted as (
      insert into gateway.token_tenant (token_id, tenant_id, with_descendants)
      select edited.id, wanted.tenant_id, wanted.with_descendants from edited, wanted
      on conflict (token_id, tenant_id) do update set with_descendants = excluded.with_descendants
    ), audited as (
      ${auditEntry(sql, actor, 'token.edit', sql`edited.id, ${JSON.stringify(changes)}::text::jsonb from edited`)}
    )
    select (select id from edited) as id, (select string_agg(tenant_id::text, ', ') from unknown) as unknown`
  if (edited.unknown) throw unknownTenants(edited.unknown)
  if (!edited.id) throw changedSince
}

const inputNames = ['name', 'contact', 'permissions', 'rateLimit', 'tenants'] as const

/**
 * Revokes a token: all instances reject it within a second. The revocation of a revoked token changes nothing.
 *
 * @throws `NOT_FOUND`
 */
export async function revokeToken(sql: Sql, actor: Actor, id: number): Promise<void> {
  const [token] = await sql<[{ found: boolean }]>`
    with /* token.revoke */ revoked as (
      update gateway.token set revoked_at = now(), revision = revision + 1 where id = ${id} and revoked_at is null
      returning id
    ), audited as (
      ${auditEntry(sql, actor, 'token.revoke', sql`id, '{}'::jsonb from revoked`)}
    )
    select exists (select from gateway.token where id = ${id}) as found`
  if (!token.found) throw notFound('token')
}
