import { arrayText, type Sql } from '../db/connect.ts'
import { createLoadingCache } from './loading-cache.ts'
import { hashSecret } from './secret.ts'
import { type Token, type TokenRecord, tokenColumns, tokenStatus } from './token.ts'
import { isTokenSecret } from './token-secret.ts'
import { createWriteBuffer } from './write-buffer.ts'

/** What is behind a secret: a token that holds, one that no longer does, or nothing. */
export type TokenLookup =
  | { status: 'active'; token: Token }
  | { status: 'expired' | 'revoked'; token: Token }
  | { status: 'unknown' }

/** Finds the tokens behind secrets, and keeps note of their use. */
export interface TokenDirectory {
  find(secret: string): TokenLookup | Promise<TokenLookup>
  /** Notes that a token was used just now; costs no statement. */
  recordUse(token: Token, address: string): void
  /**
   * Writes down when and from where tokens were last used; called now and then, and before the service stops. What
   * cannot be written is kept for the next time.
   */
  saveUse(): Promise<void>
}

/** How long a token may be out of date, in milliseconds: a revoked one is refused by every instance within a second. */
const tokenLifetime = 500

/** @returns a directory that every request may share */
export function createTokenDirectory(sql: Sql): TokenDirectory {
  const tokens = createLoadingCache<string, Kept>(secrets => findTokens(sql, secrets), tokenLifetime)
  const uses = createWriteBuffer<TokenUse>(
    (before, after) => (before.at > after.at ? before : after),
    rows => saveUses(sql, rows),
  )
  return {
    find(secret) {
      const kept = tokens.peek(secret)
      if (kept) return toFinding(kept)
      return isTokenSecret(secret) ? tokens.load(secret).then(toFinding) : toFinding(null)
    },
    recordUse(token, address) {
      uses.add(String(token.id), { id: token.id, at: Date.now(), address })
    },
    saveUse: uses.flush,
  }
}

/** When and from where a token was last used. */
interface TokenUse {
  id: number
  /** Milliseconds since 1970. */
  at: number
  address: string
}

// Tokens are locked in one order, so that instances wait for each other, and none for all.
const saveUses = (sql: Sql, uses: readonly TokenUse[]) => sql`
  with /* token.save_use */ used as (
    select token.id, used.at, used.address
    from unnest(${arrayText(uses.map(({ id }) => id))}::text::bigint[],
                ${arrayText(uses.map(({ at }) => new Date(at).toISOString()))}::text::timestamptz[],
                ${arrayText(uses.map(({ address }) => address))}::text::text[]) as used(id, at, address)
    join gateway.token on token.id = used.id
    where token.last_used_at is null or token.last_used_at < used.at
    order by token.id for no key update of token
  )
  update gateway.token set last_used_at = used.at, last_used_address = used.address
  from used where token.id = used.id`

type Kept = Token & Pick<TokenRecord, 'revokedAt'>

const toFinding = (kept: Kept | null): TokenLookup =>
  kept ? { status: tokenStatus(kept), token: kept } : { status: 'unknown' }

async function findTokens(sql: Sql, secrets: readonly string[]): Promise<(Kept | null)[]> {
  const hashes = secrets.map(secret => hashSecret(secret).toString('hex'))
  const rows = await sql<(Kept & { tokenHash: Buffer })[]>`
    select /* token.find */ ${tokenColumns(sql)}, token_hash as "tokenHash",
           coalesce((select json_agg(json_build_object('tenantId', tenant_id, 'withDescendants', with_descendants)
                                     order by tenant_id)
                     from gateway.token_tenant where token_id = token.id), '[]') as tenants
    from gateway.token
    where token_hash = any(${arrayText(hashes.map(hex => `\\x${hex}`))}::text::bytea[])`
  const found = new Map(rows.map(({ tokenHash, ...token }) => [tokenHash.toString('hex'), token]))
  return hashes.map(tokenHash => found.get(tokenHash) ?? null)
}
