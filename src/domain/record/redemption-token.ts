import { randomBytes } from 'node:crypto'
import type { Sql } from '../../db/connect.ts'
import { hashSecret } from '../secret.ts'

/**
 * Issues a token of 256 random bits and stores its SHA-256 (R26).
 *
 * @param tenantId the path tenant
 * @param tokenId the id of the caller's token
 * @param timeToLive seconds until it expires
 * @returns the redemption token
 */
export async function issueRedemptionToken(
  sql: Sql,
  voucherId: number,
  tenantId: number,
  tokenId: number,
  timeToLive: number,
): Promise<string> {
  const secret = `vgr_${randomBytes(32).toString('base64url')}`
  await sql`
    insert /* redemption_token.issue */ into gateway.redemption_token (token_hash, voucher_id, tenant_id, token_id, expires_at)
    values (${hashSecret(secret)}, ${voucherId}, ${tenantId}, ${tokenId},
            now() + ${timeToLive} * interval '1 second')`
  return secret
}

/** Deletes redemption tokens a day after they expired. */
export async function deleteExpiredRedemptionTokens(sql: Sql): Promise<void> {
  await sql`
    delete /* redemption_token.delete_expired */ from gateway.redemption_token where expires_at < now() - interval '1 day'`
}
