import { createHash, randomBytes, sign } from 'node:crypto'
import type { Sql } from '../../db/sql.ts'
import type { KeySet } from './signing-key.ts'

/** The values that a resolution puts into a redemption token. */
interface ResolvedFields {
  /** The key of the voucher in the platform's tables. */
  sourceKey: string
  voucherId: number
  ownerId: number
  /** The path tenant. */
  tenantId: number
  /** The id of the caller's token. */
  tokenId: number
  /**
   * The time of issue, in seconds since 1970, by the clock of the database, because the clocks of instances may differ.
   */
  issuedAt: number
}

export type IssueRedemptionToken = (resolved: ResolvedFields) => string

interface TokenSettings {
  issuer: string
  audience: string
  /** The time until a token expires, in seconds. */
  timeToLive: number
}

/** The maximum number of characters of a token (R26). */
const maxCharacters = 1000

const toBase64Url = (part: object) => Buffer.from(JSON.stringify(part)).toString('base64url')

/**
 * Returns a function that issues tokens: JWTs that are signed with ES256, each with an id of 128 random bits (R26). The
 * function uses `node:crypto`, with which a signature takes 27 µs of processor time (54 µs with jose).
 *
 * @param keySet returns the current keys
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

/** Returns the SHA-256 that replaces a key that is too long for a token. */
const digestOf = (key: string) => `sha256:${createHash('sha256').update(key).digest('hex')}`

/**
 * Deletes the redemption tokens that 1.0.0 has stored, a day after they expired. During an upgrade to 1.1.0, instances
 * of 1.0.0 still write such tokens. So only 1.2.0 drops the table and this job.
 */
export async function deleteExpiredRedemptionTokens(sql: Sql): Promise<void> {
  await sql`
    delete /* redemption_token.delete_expired */ from gateway.redemption_token where expires_at < now() - interval '1 day'`
}
