import type { TestDatabase } from '../../support/database.ts'
import { projected } from '../../support/projected.ts'

const recordTypes = ['tenant', 'category', 'variant', 'product', 'voucher', 'customer']

/** The number of rows to insert into each table that is large in a large installation. */
export const largeTableRows = 80_000

const fromNumbers = `from generate_series(1, ${largeTableRows}) n`
/** SQL for the tenant of row `n`: one tenant owns half of all records, and a hundred tenants own the other half. */
const tenantOfRow = 'case when n % 2 = 0 then 1 else 2 + n % 100 end'
const instantOfRow = `timestamptz '2026-01-01Z' + n * interval '1 second'`
/** SQL for the token and the day of row `n`: a thousand tokens on each of a hundred days. */
const tokenAndDayOfRow = `1 + n % 1000, (now() at time zone 'UTC')::date - n / 1000`

/** The rows of each table of the platform, as SQL. The tenants are a tree with ten children per tenant. */
const sources: Record<string, string> = {
  tenant: `(id, name, parent_id) select n, 'Tenant ' || n, case when n > 10 then n / 10 end ${fromNumbers}`,
  category: `(tenant_id, slug, title) select ${tenantOfRow}, 'c', 'C' ${fromNumbers}`,
  product: `(tenant_id, slug, title, summary, currency, price, is_monetary, sort_order)
    select ${tenantOfRow}, 'p', case when n % 1000 = 0 then 'Unicorn ' else 'P ' end || n, repeat('about it ', 30), 'GBP', n / 10,
           n % 500 = 0, n % 100 ${fromNumbers}`,
  product_category: `(product_id, category_id) select n, n ${fromNumbers}`,
  variant: `(product_id, slug, title, currency) select n, 'v', 'V', 'GBP' ${fromNumbers}`,
  purchased_voucher: `(tenant_id, reference, qr_token, currency, initial_balance, current_balance, void, product_id,
      product_title, recipient_name, purchase_timestamp, date_valid_start, date_valid_end)
    select ${tenantOfRow}, case when n % 1000 = 6 then 'ZZ' else 'R' end || n, 'Q' || n, 'GBP', n / 10, n / 10, n % 1000 = 6,
           n, case when n % 100 = 0 then 'Unicorn ride' else 'Tea' end,
           case when n % 200 = 0 then 'Ann' else 'Bob' end, ${instantOfRow},
           current_date + case when n % 1000 = 8 then 9 else -900 end,
           current_date + 10 - case when n % 4 = 2 then 800 else 0 end + n % 100 ${fromNumbers}`,
  customer: `(tenant_id, marketing_opted, consented_at, consent_source, full_name, email)
    select ${tenantOfRow}, n % 3 > 0, ${instantOfRow}, case when n % 1000 < 2 then 'fair' else 'web' end, 'Ann ' || n,
           'ann' || n || '@example.com' ${fromNumbers}`,
}

/** The rows of the other large tables, as SQL. Steps fill the tables of records. */
const otherLargeTables: Record<string, string> = {
  'gateway.figure_member': `select ancestor_id, unnest(lacking)
    from gateway.figure_member_differences(array(select member from gateway.tree_members() member))`,
  'gateway.removal': `(record, tenant_id, id, reason, updated_at)
    select (case when n % 1000 = 0 then 'customer' else 'voucher' end)::gateway.record_type, ${tenantOfRow}, ${largeTableRows} + n, 'deleted',
           ${instantOfRow}
    ${fromNumbers}`,
  'gateway.consent_withdrawal': `select ${tenantOfRow}, ${instantOfRow} ${fromNumbers}`,
  'gateway.figure_rollup': `select ${tenantOfRow}, (array['sale', 'consent', 'withdrawal'])[1 + n % 3]::gateway.figure_kind, 'half_hour',
      timestamptz '2020-01-01Z' + n * interval '1 hour', 'XTS', 'sold', 0, 1, 50, 50, 50 ${fromNumbers}`,
  'gateway.token': `(name, token_hash, hint) select 'Token ' || n, sha256(n::text::bytea), 'hint' ${fromNumbers}`,
  'gateway.token_tenant': `(token_id, tenant_id) select n, 1 + n % ${largeTableRows} ${fromNumbers}`,
  'gateway.redemption_token': `(token_hash, voucher_id, tenant_id, token_id, created_at, expires_at)
    select sha256(n::text::bytea), n, 1, n, now() - n * interval '1 s' - interval '1 h', now() - n * interval '1 s'
    ${fromNumbers}`,
  'gateway.audit_entry': `(at, actor, action, token_id, administrator_id, tenant_id)
    select now() - (${largeTableRows} - n) * interval '1 minute', 'token ' || n % 1000,
           case when n % 500 = 0 then 'token.edit' when n % 200 = 1 then 'administrator.sign_in' else 'customer.export' end,
           n % 1000, n % 49, n % 1000
    ${fromNumbers}`,
  'gateway.request_count': `(token_id, day, operation, status, requests) select ${tokenAndDayOfRow}, 'o', 200, 1 ${fromNumbers}`,
  'gateway.request_error': `(token_id, day, operation, code, reason, requests, last_at)
    select ${tokenAndDayOfRow}, 'o', 'c', 'r', 1, now() ${fromNumbers}`,
  'gateway.token_export': `(token_id, day, tenant_id, records, last_at) select ${tokenAndDayOfRow}, 1, 1, now() ${fromNumbers}`,
  'gateway.rate_window': `(key, used, resets_at) select n || ' 127.0.0.1', 1, now() - n * interval '1 s' ${fromNumbers}`,
  'gateway.webhook_delivery': `(endpoint_id, message_id, type, duration_ms)
    select 1000 + n % 20, 'evt_' || n, 'purchased_vouchers.changed', 20 ${fromNumbers}`,
  'gateway.webhook_position': `(endpoint_id, tenant_id, record, delivered_to, generation)
    select 1000 + n % 20, n, 'voucher', now(), 1 ${fromNumbers}`,
  'gateway.session': `(id_hash, administrator_id, generation, data, expires_at)
    select sha256(n::text::bytea), 1 + n % 100, 1, '{}', now() + interval '1 h' ${fromNumbers} where n <= ${largeTableRows} / 10`,
}

export const large = [
  ...Object.keys(sources),
  ...Object.keys(otherLargeTables),
  ...recordTypes.map(type => `gateway.${type}`),
  ...['gateway.tenant_path', 'gateway.voucher_entry', 'gateway.list_head'],
]

/** The tables that are never large, so a scan of the whole table costs little. The key is the reason. */
const smallTablesByReason: Record<string, string> = {
  'one row at most': 'sync_state webhook_sender check_progress step_failure subscription',
  'always empty': `step_lock ${recordTypes.map(type => `${type}_fields`).join(' ')}`,
  'people and their links': 'administrator invitation',
  'the secrets of the service, and the rotations of a day': 'setting signing_key',
  'a few for each token, made by administrators': 'webhook_endpoint',
  'the files of sql/, and what they made': 'migration definition template made_object',
  'a row for each tenant, read when one becomes large or the tree moves': 'voucher_count',
  'the last seconds: a step, which may find many, forces the index': 'note waiting_key waiting_row',
  'transactions that steps have begun with, and steps of the last minute': 'large_transaction step',
  'a row for each source, or field of ids': 'rule key_field staged_table',
  'empty: the keys of the plain tables are ids': 'identity',
  'a row for each type of record': 'mapping scan broken_mapping',
  'mistakes of the platform': 'rejected',
}

export const small = Object.values(smallTablesByReason).flatMap(names =>
  names.split(' ').map(name => `gateway.${name}`),
)

/** Fills all large tables in parallel. The records are written as in a first fill. */
export async function seedTables({ platform }: TestDatabase): Promise<void> {
  await Promise.all(
    Object.entries(sources).map(([table, rows]) =>
      platform.begin(sql =>
        sql.unsafe(`
          set local session_replication_role = replica;
          alter table ${table} disable trigger capture_row;
          insert into ${table} ${rows};
          alter table ${table} enable replica trigger capture_row`),
      ),
    ),
  )
  const indexes = await platform<{ name: string }[]>`select name from gateway.record_indexes()`
  for (const { name } of indexes) await platform.unsafe(`drop index gateway.${name}`)
  await platform`update gateway.step set is_complete = false`
  await platform`select gateway.request_scan(record, 'Rows were inserted.') from gateway.mapping`
  await projected(platform)
  await Promise.all(
    Object.entries(otherLargeTables).map(([table, rows]) =>
      platform.begin(sql => sql.unsafe(`set local session_replication_role = replica; insert into ${table} ${rows}`)),
    ),
  )
  await platform`insert into gateway.administrator (email)
    select 'person' || n || '@example.com' from generate_series(1, 100) n`
  await platform`select setval(pg_get_serial_sequence('tenant', 'id'), ${largeTableRows})`
  await platform`vacuum analyze`
}
