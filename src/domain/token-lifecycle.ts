import { arrayText, type Sql } from '../db/connect.ts'
import { type Actor, auditEntry } from './audit.ts'
import { badInput, type FieldErrors, notFound } from './errors.ts'
import { hashSecret } from './secret.ts'
import { getToken, type TenantGrant, tokenStatus } from './token.ts'
import { checkTokenInput, normalizeTokenInput, type TokenInput } from './token-input.ts'
import { createTokenSecret, secretHint } from './token-secret.ts'

type TokenInputWithExpiry = TokenInput & { expiresAt: Date | null }

const throwIfErrors = (fieldErrors: FieldErrors) => {
  if (Object.keys(fieldErrors).length > 0) throw badInput(fieldErrors)
}

const unknownTenants = (ids: string | null | undefined) => badInput({ tenants: [`No such tenant: ${ids}.`] })

/** The wanted grants as a relation `wanted(tenant_id, with_descendants)`, and those of tenants that are not there. */
const wantedGrants = (sql: Sql, tenants: TenantGrant[]) => sql`
  wanted as (
    select * from unnest(${arrayText(tenants.map(grant => grant.tenantId))}::text::bigint[],
                         ${arrayText(tenants.map(grant => grant.withDescendants))}::text::boolean[])
                  as wanted(tenant_id, with_descendants)
  ), unknown as (
    select tenant_id from wanted where not exists (select from tenant where tenant.id = wanted.tenant_id)
  )`

/** A token that was made just now, with its secret, which cannot be had again. */
export interface NewToken {
  id: number
  secret: string
}

/** The token that the same form has made before. */
export interface AlreadyCreated {
  id: number
  secret: null
}

/** @returns null when the form has made none */
export async function findCreatedToken(sql: Sql, idempotencyKey: string | undefined): Promise<AlreadyCreated | null> {
  if (idempotencyKey === undefined) return null
  const [token] = await sql<{ id: number }[]>`
    select /* token.find_by_idempotency_key */ id from gateway.token where idempotency_key = ${idempotencyKey}`
  return token ? { id: token.id, secret: null } : null
}

/**
 * Makes a token.
 *
 * @param wanted `expiresAt` null for a token without an end
 * @param idempotencyKey the form that wants it, and that makes one token however often it is posted, at whichever instance
 * @throws `BAD_USER_INPUT` with the errors of `name`, `contact`, `rateLimit`, `tenants`, `expiresAt`
 */
export function createToken(sql: Sql, actor: Actor, wanted: TokenInputWithExpiry): Promise<NewToken>
export function createToken(
  sql: Sql,
  actor: Actor,
  wanted: TokenInputWithExpiry,
  idempotencyKey: string,
): Promise<NewToken | AlreadyCreated>
export async function createToken(
  sql: Sql,
  actor: Actor,
  wanted: TokenInputWithExpiry,
  idempotencyKey?: string,
): Promise<NewToken | AlreadyCreated> {
  const input = normalizeTokenInput(wanted)
  const past = wanted.expiresAt !== null && !(wanted.expiresAt.getTime() > Date.now())
  throwIfErrors({ ...checkTokenInput(input), ...(past ? { expiresAt: ['Give a time that is still to come.'] } : {}) })
  const secret = createTokenSecret()
  const expiresAt = wanted.expiresAt?.toISOString() ?? null
  const detail = JSON.stringify({ ...input, expiresAt })
  const [created] = await sql<{ id: number | null; unknown: string | null }[]>`
    with /* token.create */ ${wantedGrants(sql, input.tenants)}, created as (
      insert into gateway.token (name, contact, token_hash, hint, permissions, rate_limit, created_by, expires_at, idempotency_key)
      select ${input.name}, ${input.contact}::text, ${hashSecret(secret)}, ${secretHint(secret)},
             ${arrayText(input.permissions)}::text::text[], ${input.rateLimit}::integer, ${actor.name},
             ${expiresAt}::text::timestamptz, ${idempotencyKey ?? null}::text
      where not exists (select from unknown)
      on conflict (idempotency_key) do nothing
      returning id
    ), granted as (
      insert into gateway.token_tenant (token_id, tenant_id, with_descendants)
      select created.id, wanted.tenant_id, wanted.with_descendants from created, wanted
    ), audited as (
      ${auditEntry(sql, actor, 'token.create', sql`created.id, null::bigint, null::bigint, ${detail}::text::jsonb from created`)}
    )
    select (select id from created) as id, (select string_agg(tenant_id::text, ', ') from unknown) as unknown`
  if (created?.id) return { id: created.id, secret }
  const made = await findCreatedToken(sql, idempotencyKey)
  if (made) return made
  throw unknownTenants(created?.unknown)
}

/**
 * Changes what a token is called, permitted and authorised for; every instance heeds it within a second.
 *
 * @param revision the revision of the token that the administrator has seen; null matches none
 * @throws `NOT_FOUND`; `BAD_USER_INPUT` with the errors of `name`, `contact`, `rateLimit`, `tenants`, or of `revision`
 *   when the token was changed since, or no longer holds
 */
export async function editToken(
  sql: Sql,
  actor: Actor,
  id: number,
  revision: number | null,
  wanted: TokenInput,
): Promise<void> {
  const input = normalizeTokenInput(wanted)
  throwIfErrors(checkTokenInput(input))
  const token = await getToken(sql, id)
  if (tokenStatus(token) !== 'active') {
    throw badInput({ revision: ['This token no longer holds: nothing is left to change.'] })
  }
  const changedSince = badInput({ revision: ['This token was changed by someone else meanwhile. Look at it again.'] })
  if (token.revision !== revision) throw changedSince
  const before = normalizeTokenInput(token)
  const changes = Object.fromEntries(
    wishNames
      .filter(name => JSON.stringify(before[name]) !== JSON.stringify(input[name]))
      .map(name => [name, { from: before[name], to: input[name] }]),
  )
  if (Object.keys(changes).length === 0) return
  const [edited] = await sql<{ id: number | null; unknown: string | null }[]>`
    with /* token.edit */ ${wantedGrants(sql, input.tenants)}, edited as (
      update gateway.token
      set name = ${input.name}, contact = ${input.contact}::text, permissions = ${arrayText(input.permissions)}::text::text[],
          rate_limit = ${input.rateLimit}::integer, revision = revision + 1
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
      ${auditEntry(sql, actor, 'token.edit', sql`edited.id, null::bigint, null::bigint, ${JSON.stringify(changes)}::text::jsonb from edited`)}
    )
    select (select id from edited) as id, (select string_agg(tenant_id::text, ', ') from unknown) as unknown`
  if (edited?.unknown) throw unknownTenants(edited.unknown)
  if (!edited?.id) throw changedSince
}

const wishNames = ['name', 'contact', 'permissions', 'rateLimit', 'tenants'] as const

/**
 * Revokes a token; every instance refuses it within a second. Revoking it again changes nothing.
 *
 * @throws `NOT_FOUND`
 */
export async function revokeToken(sql: Sql, actor: Actor, id: number): Promise<void> {
  const [token] = await sql<{ found: boolean }[]>`
    with /* token.revoke */ revoked as (
      update gateway.token set revoked_at = now(), revision = revision + 1 where id = ${id} and revoked_at is null
      returning id
    ), audited as (
      ${auditEntry(sql, actor, 'token.revoke', sql`id, null::bigint, null::bigint, '{}'::jsonb from revoked`)}
    )
    select exists (select from gateway.token where id = ${id}) as found`
  if (!token?.found) throw notFound('token')
}
