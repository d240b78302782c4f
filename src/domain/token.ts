import { createHash, randomBytes } from 'node:crypto'
import { crc32 } from 'node:zlib'
import DataLoader from 'dataloader'
import { LRUCache } from 'lru-cache'
import { arrayText, type Sql } from '../db/connect.ts'
import { badInput } from './errors.ts'
import type { Instant } from './instant.ts'
import type { Permission } from './permission.ts'

/** A tenant that a token is authorised for (R21). */
export interface TenantGrant {
  tenantId: number
  /** Whether the grant reaches all tenants below this one too. */
  withDescendants: boolean
}

/** A bearer token as a caller holds it; the secret itself is nowhere kept. */
export interface Token {
  id: number
  name: string
  permissions: Permission[]
  tenants: TenantGrant[]
  expiresAt: Instant | null
}

/** A token as an administrator sees it. */
export interface TokenRecord extends Token {
  /** The visible start and last four characters of the secret. */
  hint: string
  createdAt: Instant
  revokedAt: Instant | null
  lastUsedAt: Instant | null
}

const prefix = 'vgw_'
const secretLength = 43
const checksumLength = 6
const form = new RegExp(`^${prefix}[0-9A-Za-z]{${secretLength + checksumLength}}$`)
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

function base62(value: bigint, length: number): string {
  let text = ''
  for (let rest = value; text.length < length; rest /= 62n) text = digits[Number(rest % 62n)] + text
  return text
}

const checksum = (body: string) => base62(BigInt(crc32(body)), checksumLength)

/** @returns a new secret: prefix, 256 random bits and a checksum, all of it letters and digits */
export function createSecret(): string {
  const body = prefix + base62(BigInt(`0x${randomBytes(32).toString('hex')}`), secretLength)
  return body + checksum(body)
}

/** @returns whether the text could be a secret of ours: a mistyped or foreign one is refused without a look-up */
function isSecret(text: string): boolean {
  return form.test(text) && checksum(text.slice(0, -checksumLength)) === text.slice(-checksumLength)
}

const hash = (secret: string) => createHash('sha256').update(secret).digest()

/** Finds the tokens behind secrets, and keeps note of their use. */
export interface TokenDirectory {
  /** @returns the token, or null when the secret is malformed, unknown, expired or revoked */
  find(secret: string): Promise<Token | null>
  /** Writes down when tokens were last used; called now and then, and before the service stops. */
  saveUse(): Promise<void>
}

/** How long a token may be out of date, in milliseconds: a revoked one is refused by every instance within a second. */
const tokenLifetime = 500

/** Tokens are kept for half a second, so that a busy integration does not ask for its token at every page. */
export function createTokenDirectory(sql: Sql): TokenDirectory {
  const tokens = new DataLoader<string, Token | null>(secrets => findTokens(sql, secrets), {
    cacheMap: new LRUCache<string, Promise<Token | null>>({ max: 10_000, ttl: tokenLifetime }),
  })
  let used = new Map<number, number>()
  return {
    async find(secret) {
      if (!isSecret(secret)) return null
      const token = await tokens.load(secret)
      const now = Date.now()
      if (!token) tokens.clear(secret)
      if (!token || (token.expiresAt && Date.parse(token.expiresAt) <= now)) return null
      used.set(token.id, now)
      return token
    },
    async saveUse() {
      if (used.size === 0) return
      const uses = used
      used = new Map()
      const [ids, times] = [[...uses.keys()], [...uses.values()].map(time => new Date(time).toISOString())]
      await sql`
        update /* token.save_use */ gateway.token set last_used_at = greatest(last_used_at, used.at)
        from unnest(${arrayText(ids)}::text::bigint[], ${arrayText(times)}::text::timestamptz[]) as used(id, at)
        where token.id = used.id`
    },
  }
}

const columns = (sql: Sql) => sql`
  token.id, token.name, array_to_json(token.permissions) as permissions, token.expires_at as "expiresAt",
  coalesce((select json_agg(json_build_object('tenantId', tenant_id, 'withDescendants', with_descendants)
                            order by tenant_id)
            from gateway.token_tenant where token_id = token.id), '[]') as tenants`

async function findTokens(sql: Sql, secrets: readonly string[]): Promise<(Token | null)[]> {
  const hashes = secrets.map(secret => hash(secret).toString('hex'))
  const rows = await sql<(Token & { tokenHash: Buffer })[]>`
    select /* token.find */ ${columns(sql)}, token_hash as "tokenHash"
    from gateway.token
    where token_hash = any(${arrayText(hashes.map(hex => `\\x${hex}`))}::text::bytea[]) and revoked_at is null`
  const found = new Map(rows.map(({ tokenHash, ...token }) => [tokenHash.toString('hex'), token]))
  return hashes.map(tokenHash => found.get(tokenHash) ?? null)
}

/**
 * Makes a token.
 *
 * @param wanted what it is called, permitted and authorised for; `expiresAt` null for a token without an end
 * @returns its id, and the secret, which cannot be had again
 * @throws `BAD_USER_INPUT` with the faults of `name`, `tenants`, `expiresAt`
 */
export async function createToken(
  sql: Sql,
  wanted: Pick<Token, 'name' | 'permissions' | 'tenants'> & { expiresAt: Date | null },
): Promise<{ id: number; secret: string }> {
  const name = wanted.name.trim()
  if (name === '' || name.length > 200) throw badInput({ name: ['Give the token a name of 1 to 200 characters.'] })
  if (wanted.expiresAt && wanted.expiresAt.getTime() <= Date.now()) {
    throw badInput({ expiresAt: ['Give a time that is still to come.'] })
  }
  const secret = createSecret()
  const grants = new Map<number, boolean>()
  for (const { tenantId, withDescendants } of wanted.tenants) {
    grants.set(tenantId, withDescendants || (grants.get(tenantId) ?? false))
  }
  const [created] = await sql<{ id: number | null; unknown: string | null }[]>`
    with /* token.create */ wanted as (
      select * from unnest(${arrayText([...grants.keys()])}::text::bigint[],
                           ${arrayText([...grants.values()])}::text::boolean[]) as wanted(tenant_id, with_descendants)
    ), unknown as (
      select tenant_id from wanted where not exists (select from tenant where tenant.id = wanted.tenant_id)
    ), created as (
      insert into gateway.token (name, token_hash, hint, permissions, expires_at)
      select ${name}, ${hash(secret)}, ${`${secret.slice(0, 8)}…${secret.slice(-4)}`},
             ${arrayText([...new Set(wanted.permissions)])}::text::text[],
             ${wanted.expiresAt?.toISOString() ?? null}::text::timestamptz
      where not exists (select from unknown)
      returning id
    ), granted as (
      insert into gateway.token_tenant (token_id, tenant_id, with_descendants)
      select created.id, wanted.tenant_id, wanted.with_descendants from created, wanted
    )
    select (select id from created) as id, (select string_agg(tenant_id::text, ', ') from unknown) as unknown`
  if (!created?.id) throw badInput({ tenants: [`No such tenant: ${created?.unknown}.`] })
  return { id: created.id, secret }
}

/** @returns all tokens, newest first, revoked and expired ones too */
export async function listTokens(sql: Sql): Promise<TokenRecord[]> {
  return sql<TokenRecord[]>`
    select /* token.list */ ${columns(sql)}, hint, created_at as "createdAt", revoked_at as "revokedAt",
           last_used_at as "lastUsedAt"
    from gateway.token order by id desc`
}

/**
 * Revokes a token; every instance refuses it within a second. Revoking it again changes nothing.
 *
 * @returns whether there is such a token
 */
export async function revokeToken(sql: Sql, id: number): Promise<boolean> {
  const rows = await sql`
    update /* token.revoke */ gateway.token set revoked_at = coalesce(revoked_at, now()) where id = ${id} returning id`
  return rows.length > 0
}
