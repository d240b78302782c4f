import type { Sql } from '../../db/sql.ts'
import { type Actor, auditEntry } from '../administrator/audit.ts'
import { badInput, throwIfErrors } from '../errors.ts'
import { hashSecret } from '../secret/hash.ts'
import { type AlreadyCreated, type CreatedToken, checkExpiry, findCreatedToken } from './lifecycle.ts'
import { createTokenSecret, secretHint } from './secret.ts'
import { getToken, tokenStatus } from './token.ts'

interface Rotation {
  /** The time for which both tokens are valid, in seconds; 0 revokes the old token immediately. */
  overlap: number
  /** The time at which the successor expires; null for never; `inherit` for the time at which the old token expires. */
  expiresAt: Date | null | 'inherit'
}

/**
 * Replaces a token by a successor. The successor gets all properties of the old token except the secret, and also its
 * webhooks. The old token ends after the overlap, or at its own expiry when that is earlier.
 *
 * @param idempotencyKey as for `createToken`
 * @throws `NOT_FOUND`; `BAD_USER_INPUT` with the errors of `expiresAt`, or of `token` when it is not active, has a
 * successor, or is changed by another administrator at the same time
 */
export function rotateToken(sql: Sql, actor: Actor, id: number, rotation: Rotation): Promise<CreatedToken>
export function rotateToken(
  sql: Sql,
  actor: Actor,
  id: number,
  rotation: Rotation,
  idempotencyKey: string,
): Promise<CreatedToken | AlreadyCreated>
export async function rotateToken(
  sql: Sql,
  actor: Actor,
  id: number,
  { overlap, expiresAt }: Rotation,
  idempotencyKey?: string,
): Promise<CreatedToken | AlreadyCreated> {
  if (expiresAt !== 'inherit') throwIfErrors(checkExpiry(expiresAt))
  const token = await getToken(sql, id)
  const existingOrThrow = async (message: string) => {
    const existing = await findCreatedToken(sql, idempotencyKey)
    if (existing) return existing
    throw badInput({ token: [message] })
  }
  if (token.rotatedTo !== null) {
    return existingOrThrow(`Token ${token.rotatedTo} already replaces this token: rotate that one.`)
  }
  if (tokenStatus(token) !== 'active') return existingOrThrow('This token is not active: create a new one.')
  const secret = createTokenSecret()
  const newEnd =
    expiresAt === 'inherit' ? sql`before.expires_at` : sql`${expiresAt?.toISOString() ?? null}::text::timestamptz`
  const creation = sql`
    created.id, jsonb_build_object(
      'name', name, 'contact', contact, 'permissions', permissions, 'rateLimit', rate_limit,
      'expiresAt', expires_at, 'rotatedFrom', rotated_from,
      'tenants', (
        select coalesce(jsonb_agg(jsonb_build_object('tenantId', tenant_id, 'withDescendants', with_descendants)
                                  order by tenant_id), '[]')
        from gateway.token_tenant where token_id = ${id}))
    from created`
  const replacement = sql`
    ${id}::bigint,
    jsonb_build_object('successor', created.id, 'endsAt', ending.expires_at, 'successorExpiresAt', created.expires_at)
    from created, ending, audited_creation`
  const [rotated] = await sql<{ id: number }[]>`
    with /* token.rotate */ before as (
      select * from gateway.token
      where id = ${id} and revision = ${token.revision} and (expires_at is null or expires_at > now())
      for update
    ), ending as (
      update gateway.token
      set expires_at = least(before.expires_at, now() + make_interval(secs => ${overlap})),
          revoked_at = case when ${overlap} = 0 then now() end,
          revision = token.revision + 1
      from before where token.id = before.id
      returning token.expires_at
    ), created as (
      insert into gateway.token (
        name, contact, token_hash, hint, permissions, rate_limit, created_by, expires_at, rotated_from, idempotency_key,
        session_hash)
      select name, contact, ${hashSecret(secret)}, ${secretHint(secret)}, permissions, rate_limit, ${actor.name}, ${newEnd},
             before.id, ${idempotencyKey ?? null}::text, session_hash
      from before
      returning *
    ), granted as (
      insert into gateway.token_tenant (token_id, tenant_id, with_descendants)
      select created.id, tenant_id, with_descendants from created, gateway.token_tenant where token_id = ${id}
    ), webhooks as (
      update gateway.webhook_endpoint set token_id = created.id, revision = webhook_endpoint.revision + 1
      from created where token_id = ${id}
    ), audited_creation as (
      ${auditEntry(sql, actor, 'token.create', creation)}
      returning id
    ), audited as (
      ${auditEntry(sql, actor, 'token.rotate', replacement)}
    )
    select id from created`
  if (!rotated)
    return existingOrThrow('Another administrator has changed this token in the meantime. Check it and try again.')
  return { id: rotated.id, secret }
}
