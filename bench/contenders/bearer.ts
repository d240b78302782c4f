import { createHash } from 'node:crypto'
import type { Pool } from './database.ts'

/** The token of a request. It may do everything: a contender has neither permissions nor grants. */
export interface Caller {
  id: number
}

/** The time that a token is cached, in milliseconds. */
const lifetime = 30_000

/** @returns a cached look-up of bearer tokens; it returns null for a request that has no valid one */
export function createBearer(sql: Pool): (authorization: string | undefined) => Promise<Caller | null> | Caller | null {
  const kept = new Map<string, { caller: Caller; until: number }>()
  const find = async (secret: string) => {
    const [caller] = await sql<Caller[]>`
      select id from gateway.token
      where token_hash = ${createHash('sha256').update(secret).digest()}
        and revoked_at is null and (expires_at is null or expires_at > now())`
    if (!caller) return null
    kept.set(secret, { caller, until: Date.now() + lifetime })
    return caller
  }
  return authorization => {
    if (!authorization?.startsWith('Bearer ')) return null
    const secret = authorization.slice('Bearer '.length)
    const found = kept.get(secret)
    return found && found.until > Date.now() ? found.caller : find(secret)
  }
}
