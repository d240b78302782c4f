import type { Sql } from '../db/connect.ts'
import type { AuditAction } from './audit.ts'
import type { Caller } from './caller.ts'
import type { Page, Range } from './page.ts'
import { findSignup, listSignups, type MarketingSignup } from './signup.ts'

/**
 * Reads a page of the tenant's marketing signups for a caller (contract, operation 6), and puts down that it was
 * given out.
 *
 * @throws what kept the entry from being written: without one, nothing is given out
 */
export async function exportSignups(
  sql: Sql,
  caller: Caller,
  tenantId: number,
  range: Range,
): Promise<Page<MarketingSignup>> {
  const page = await listSignups(sql, tenantId, range)
  if (page.rows.length > 0) await noteExport(sql, caller, tenantId, 'list', page.rows.length)
  return page
}

/**
 * Reads one of the tenant's marketing signups for a caller (contract, operation 7), and puts down that it was given
 * out.
 *
 * @returns null when the tenant has no such signup
 * @throws what kept the entry from being written: without one, nothing is given out
 */
export async function exportSignup(
  sql: Sql,
  caller: Caller,
  tenantId: number,
  id: number,
): Promise<MarketingSignup | null> {
  const signup = await findSignup(sql, tenantId, id)
  if (signup) await noteExport(sql, caller, tenantId, 'record', 1)
  return signup
}

/** Puts it down in the audit, and adds it to what the token was given of the tenant on the day. */
async function noteExport(
  sql: Sql,
  { token, address, requestId }: Caller,
  tenantId: number,
  operation: 'list' | 'record',
  records: number,
): Promise<void> {
  const action: AuditAction = 'customer.export'
  const detail = JSON.stringify({ records, operation, requestId })
  await sql`
    with /* export.note */ noted as (
      insert into gateway.audit_entry (actor, address, action, token_id, tenant_id, detail)
      values (${`token ${token.id} (${token.name})`}, ${address}, ${action}, ${token.id}, ${tenantId},
              ${detail}::text::jsonb)
      returning at, token_id, tenant_id
    )
    insert into gateway.token_export (token_id, day, tenant_id, records, last_at)
    select token_id, (at at time zone 'UTC')::date, tenant_id, ${records}::bigint, at from noted
    on conflict (token_id, day, tenant_id) do update
    set records = token_export.records + excluded.records, last_at = greatest(token_export.last_at, excluded.last_at)`
}
