/** The record of a test that an administrator sends to an endpoint. */
import type { Sql } from '../../db/sql.ts'
import { type Actor, auditEntry } from '../administrator/audit.ts'
import { notFound } from '../errors.ts'
import type { Delivery } from './delivery.ts'

/** Writes a test and its outcome into the log and into the audit. @throws `NOT_FOUND` */
export async function recordTest(
  sql: Sql,
  actor: Actor,
  id: number,
  { messageId, ...outcome }: Pick<Delivery, 'messageId' | 'status' | 'error' | 'durationMs'>,
): Promise<void> {
  const { status, error, durationMs } = outcome
  const detail = JSON.stringify({ endpoint: id, status, error })
  const [recorded] = await sql`
    with /* webhook.record_test */ tested as (
      select id, token_id from gateway.webhook_endpoint where id = ${id}
    ), logged as (
      insert into gateway.webhook_delivery (endpoint_id, message_id, type, status, error, duration_ms)
      select id, ${messageId}, 'test', ${status}::integer, ${error}::text, ${durationMs}::integer from tested
    )
    ${auditEntry(sql, actor, 'webhook.test', sql`token_id, ${detail}::text::jsonb from tested`)} returning 1`
  if (!recorded) throw notFound('webhook')
}
