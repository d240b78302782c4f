import { createHash } from 'node:crypto'
import type { Pool } from './database.ts'

/** Who calls. Whoever holds a token may do all: a contender knows neither permissions nor grants. */
export interface Caller {
  id: number
}

const lifetime = 30_000

/** @returns a look-up of bearer tokens that remembers each for half a minute; null: let nobody in */
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
