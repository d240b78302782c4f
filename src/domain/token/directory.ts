import { createLoadingCache } from '../../async/loading-cache.ts'
import { createWriteBuffer } from '../../async/write-buffer.ts'
import { arrayText, onPrimary, type Pool, type Sql } from '../../db/sql.ts'
import { isValidSession } from '../administrator/session.ts'
import { hashSecret } from '../secret/hash.ts'
import { isTokenSecret } from './secret.ts'
import { grantsOf, type Token, type TokenStatus, type TokenValidity, tokenColumns, tokenStatus } from './token.ts'

export type TokenLookup = { status: TokenStatus; token: Token } | { status: 'unknown' }

export type TokenDirectory = ReturnType<typeof createTokenDirectory>

/**
 * The maximum age of a cached token, in milliseconds. So each instance rejects a revoked or expired token within a
 * second.
 */
const tokenLifetime = 500

/** Creates the directory that looks up tokens by their secrets, and records their use. All requests share it. */
export function createTokenDirectory(sql: Pool) {
  const tokens = createLoadingCache<string, StoredToken>(secrets => findTokens(sql, secrets), tokenLifetime)
  const uses = createWriteBuffer<TokenUse>(
    (before, after) => (before.at > after.at ? before : after),
    rows => saveUses(sql.background, rows),
  )
  /**
   * Looks up a secret without a statement. Returns a cached token, or `unknown` for a text that cannot be a secret;
   * null when only a statement can find the token.
   */
  function peek(secret: string): TokenLookup | null {
    const cached = tokens.peek(secret)
    if (cached) return toLookup(cached)
    return isTokenSecret(secret) ? null : toLookup(null)
  }
  return {
    peek,
    /** Looks up a secret; returns no promise when its token is cached. */
    find: (secret: string): TokenLookup | Promise<TokenLookup> => peek(secret) ?? tokens.load(secret).then(toLookup),
    /** Records in memory that a token is used now; sends no statement. */
    recordUse(token: Token, address: string): void {
      uses.add(String(token.id), { id: token.id, at: Date.now(), address })
    },
    /** Saves the last uses. After a failure, the uses are kept for the next call. */
    saveUse: uses.flush,
  }
}

interface TokenUse {
  id: number
  /** Milliseconds since 1970. */
  at: number
  address: string
}

// All instances lock the tokens in the order of the ids, so that no deadlock occurs. The use of a token also counts as
// a use of its session.
const saveUses = (sql: Sql, uses: readonly TokenUse[]) => sql`
  with /* token.save_use */ used as (
    select token.id, used.at, used.address
    from unnest(${arrayText(uses.map(({ id }) => id))}::text::bigint[],
                ${arrayText(uses.map(({ at }) => new Date(at).toISOString()))}::text::timestamptz[],
                ${arrayText(uses.map(({ address }) => address))}::text::text[]) as used(id, at, address)
    join gateway.token on token.id = used.id
    where token.last_used_at is null or token.last_used_at < used.at
    order by token.id for no key update of token
  ), sessions as (
    update gateway.session set used_at = now()
    where id_hash in (select session_hash from used join gateway.token using (id))
      and used_at < now() - interval '1 minute' and ${isValidSession(sql)}
  )
  update gateway.token set last_used_at = used.at, last_used_address = used.address
  from used where token.id = used.id`

type StoredToken = Token & TokenValidity

const toLookup = (token: StoredToken | null): TokenLookup =>
  token ? { status: tokenStatus(token), token } : { status: 'unknown' }

async function findTokens(sql: Sql, secrets: readonly string[]): Promise<(StoredToken | null)[]> {
  const hashes = secrets.map(secret => hashSecret(secret).toString('hex'))
  const rows = await sql<(StoredToken & { tokenHash: Buffer })[]>`
    select /* token.find */ ${tokenColumns(sql)}, token_hash as "tokenHash",
           ${grantsOf(sql)} as tenants
    from gateway.token
    where token_hash = any(${arrayText(hashes.map(hex => `\\x${hex}`))}::text::bytea[]) and ${onPrimary(sql)}`
  const found = new Map(rows.map(({ tokenHash, ...token }) => [tokenHash.toString('hex'), token]))
  return hashes.map(tokenHash => found.get(tokenHash) ?? null)
}
