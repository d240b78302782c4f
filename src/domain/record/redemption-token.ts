import { randomBytes } from 'node:crypto'
import type { Sql } from '../../db/sql.ts'
import { shareStatements } from '../../db/statement/shared-statement.ts'
import { hashSecret } from '../secret/hash.ts'

interface Issued {
  /** As PostgreSQL writes a `bytea`. */
  hash: string
  voucherId: number
  tenantId: number
  tokenId: number
  timeToLive: number
}

/** Stores tokens. When the answer to the shared statement is lost, each is stored again: then it is there already. */
const store = shareStatements<Issued, Issued>(async (sql, issued) => {
  await sql`
    insert /* redemption_token.issue */ into gateway.redemption_token (token_hash, voucher_id, tenant_id, token_id, expires_at)
    select hash, "voucherId", "tenantId", "tokenId", now() + "timeToLive" * interval '1 second'
    from json_to_recordset(${JSON.stringify(issued)}::text::json)
      as issued (hash bytea, "voucherId" bigint, "tenantId" bigint, "tokenId" bigint, "timeToLive" integer)
    on conflict do nothing`
  return issued
})

/**
 * Issues a token of 256 random bits and stores its SHA-256 (R26).
 *
 * @param group requests with the same one share the statement that stores tokens
 * @param tenantId the path tenant
 * @param tokenId the id of the caller's token
 * @param timeToLive whole seconds until it expires
 */
export async function issueRedemptionToken(
  sql: Sql,
  group: object,
  voucherId: number,
  tenantId: number,
  tokenId: number,
  timeToLive: number,
): Promise<string> {
  const secret = `vgr_${randomBytes(32).toString('base64url')}`
  const hash = `\\x${hashSecret(secret).toString('hex')}`
  await store(group, sql, { hash, voucherId, tenantId, tokenId, timeToLive })
  return secret
}

/** Deletes redemption tokens a day after they expired. */
export async function deleteExpiredRedemptionTokens(sql: Sql): Promise<void> {
  await sql`
    delete /* redemption_token.delete_expired */ from gateway.redemption_token where expires_at < now() - interval '1 day'`
}
