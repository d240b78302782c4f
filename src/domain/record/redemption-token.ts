import { createHash, randomBytes, sign } from 'node:crypto'
import type { Sql } from '../../db/sql.ts'
import type { KeySet } from './signing-key.ts'

/** The fields of a redemption token that come from its resolution. */
interface ResolvedFields {
  /** The key of the voucher in the source. */
  sourceKey: string
  voucherId: number
  ownerId: number
  /** The path tenant. */
  tenantId: number
  /** The id of the caller's token. */
  tokenId: number
  /** Seconds of the epoch, by the clock of the database: clocks of instances may differ. */
  issuedAt: number
}

export type IssueRedemptionToken = (resolved: ResolvedFields) => string

interface TokenSettings {
  issuer: string
  audience: string
  /** Seconds until a token expires. */
  timeToLive: number
}

/** The maximum number of characters of a token (R26). */
const maxCharacters = 1000

const toBase64Url = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

/**
 * Returns a function that issues tokens: JWTs that are signed with ES256, each with an id of 128 random bits (R26). It uses
 * `node:crypto`, because signing takes 27 µs of processor time with it, and 54 µs with jose.
 *
 * @param keySet returns the present keys
 */
export function createIssuer(
  { issuer, audience, timeToLive }: TokenSettings,
  keySet: () => KeySet,
): IssueRedemptionToken {
  return ({ sourceKey, voucherId, ownerId, tenantId, tokenId, issuedAt: iat }) => {
    const { privateKey, publicKey } = keySet().signer
    const header = toBase64Url({ alg: 'ES256', typ: 'JWT', kid: publicKey.kid })
    const jti = randomBytes(16).toString('base64url')
    const write = (sub: string) => {
      const ids = { voucher_id: voucherId, owner_id: ownerId, tenant_id: tenantId, token_id: tokenId }
      const claims = { iss: issuer, aud: audience, sub, ...ids, jti, iat, exp: iat + timeToLive }
      const content = `${header}.${toBase64Url(claims)}`
      const signature = sign('sha256', Buffer.from(content), { key: privateKey, dsaEncoding: 'ieee-p1363' })
      return `${content}.${signature.toString('base64url')}`
    }
    const token = write(sourceKey)
    return token.length <= maxCharacters ? token : write(digestOf(sourceKey))
  }
}

/** Returns the replacement of a key that is too long for a token. */
const digestOf = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`

/**
 * Deletes the redemption tokens that 1.0.0 has stored, a day after they expired. A service of 1.0.0 writes them until
 * it is upgraded to 1.1.0, so 1.2.0 drops the table and this job.
 */
export async function deleteExpiredRedemptionTokens(sql: Sql): Promise<void> {
  await sql`
    delete /* redemption_token.delete_expired */ from gateway.redemption_token where expires_at < now() - interval '1 day'`
}
