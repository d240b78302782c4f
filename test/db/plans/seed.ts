import type { Sql } from '../../../src/db/connect.ts'
import type { TestDatabase } from '../../support/database.ts'

/** How many rows each table has here that is large in a large installation. */
export const many = 100_000

const numbers = `from generate_series(1, ${many}) n`
/** One tenant owns half of all records, a hundred others own the other half. */
const owner = 'case when n % 2 = 0 then 1 else 2 + n % 100 end'
const stamp = `timestamptz '2026-01-01Z' + n * interval '1 second'`
/** Each of a thousand tokens on each of a hundred days. */
const useOfDay = `1 + n % 1000, (now() at time zone 'UTC')::date - n / 1000`

/** What fills each large table. The tenants are a tree, ten below each. */
export const large: Record<string, string> = {
  tenant: `(id, name, parent_id, updated_at)
    select n, 'Tenant ' || n, case when n > 10 then n / 10 end, ${stamp} ${numbers}`,
  category: `(tenant_id, slug, title) select ${owner}, 'c', 'C' ${numbers}`,
  product: `(tenant_id, slug, title, summary, currency, updated_at)
    select ${owner}, 'p', 'P', repeat('about it ', 30), 'GBP', ${stamp} ${numbers}`,
  product_category: `(product_id, category_id) select n, n ${numbers}`,
  variant: `(product_id, slug, title, currency) select n, 'v', 'V', 'GBP' ${numbers}`,
  purchased_voucher: `(tenant_id, reference, qr_token, updated_at)
    select ${owner}, 'R' || n, 'Q' || n, ${stamp} ${numbers}`,
  customer: `(tenant_id, marketing_opted, updated_at) select ${owner}, n % 3 > 0, ${stamp} ${numbers}`,
  'gateway.removal': `(resource, tenant_id, record_id, reason, updated_at)
    select case when n % 1000 = 0 then 'marketing_signup' else 'purchased_voucher' end, ${owner}, ${many} + n, 'deleted',
           ${stamp}
    ${numbers}`,
  'gateway.token': `(name, token_hash, hint) select 'Token ' || n, sha256(n::text::bytea), 'hint' ${numbers}`,
  'gateway.token_tenant': `(token_id, tenant_id) select n, 1 + n % ${many} ${numbers}`,
  'gateway.redemption_token': `(token_hash, voucher_id, tenant_id, token_id, created_at, expires_at)
    select sha256(n::text::bytea), n, 1, n, now() - n * interval '1 s' - interval '1 h', now() - n * interval '1 s'
    ${numbers}`,
  'gateway.audit_entry': `(at, actor, action, token_id, administrator_id, tenant_id)
    select now() - (${many} - n) * interval '1 minute', 'token ' || n % 1000,
           case when n % 500 = 0 then 'token.edit' when n % 200 = 1 then 'administrator.sign_in' else 'customer.export' end,
           n % 1000, n % 49, n % 1000
    ${numbers}`,
  'gateway.request_count': `(token_id, day, operation, status, requests) select ${useOfDay}, 'o', 200, 1 ${numbers}`,
  'gateway.request_error': `(token_id, day, operation, code, reason, requests, last_at)
    select ${useOfDay}, 'o', 'c', 'r', 1, now() ${numbers}`,
  'gateway.token_export': `(token_id, day, tenant_id, records, last_at) select ${useOfDay}, 1, 1, now() ${numbers}`,
  'gateway.session': `(id_hash, administrator_id, generation, data, expires_at)
    select sha256(n::text::bytea), 1 + n % 100, 1, '{}', now() + interval '1 h' ${numbers} where n <= ${many} / 10`,
}

/** The tables that are never large, and why: a scan of the whole table costs nothing. */
export const small: Record<string, string> = {
  'gateway.planned_stamp': 'the bulk commits of the last seconds',
  'gateway.list': 'the lists of the platform: three rows',
  'gateway.sync_state': 'one row',
  'gateway.administrator': 'people',
  'gateway.invitation': 'links of the last day, for people',
  'gateway.setting': 'the secrets of the service',
  'gateway.migration': 'the files of sql/',
  'gateway.stamp_queue': 'what a subscription changed in the last 250 ms',
}

/** Fills the large tables, two at a time, with the rows that triggers and foreign keys would leave. */
export async function seedTables({ platform }: TestDatabase): Promise<void> {
  const waiting = Object.entries(large)
  const fillAll = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const [table, rows] = next
      await platform.begin(sql => fill(sql, table, rows))
    }
  }
  await Promise.all([fillAll(), fillAll()])
  await platform`insert into gateway.administrator (email)
    select 'person' || n || '@example.com' from generate_series(1, 100) n`
  await platform`select setval(pg_get_serial_sequence('tenant', 'id'), ${many})`
  await platform`vacuum analyze`
}

async function fill(sql: Sql, table: string, rows: string): Promise<void> {
  await sql.unsafe(`
    set local session_replication_role = replica;
    alter table ${table} disable trigger user;
    insert into ${table} ${rows}`)
}
