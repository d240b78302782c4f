import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { noWrites, readWrites } from './writes.ts'

const { platform } = await createDatabase()

const read = `
  administrator audit_entry consent_entry entry_count entry_figure figure_member figure_rollup fill_request follower
  invitation list migration planned_stamp rate_window removal session setting sync_state token token_export
  request_error token_tenant request_count voucher_entry voucher_text withdrawal_entry write_marker
  public.category public.customer public.product public.product_category public.purchased_voucher public.tenant
  public.variant`

/**
 * The rights of the service on tables and views, besides the columns that its statements write. Others fail the test.
 */
const reads: Record<string, string> = {
  ...Object.fromEntries(read.match(/\S+/g)!.map(name => [name.includes('.') ? name : `gateway.${name}`, 'select'])),
  'gateway.stamp_queue': '',
  // The service reads only the end of an issued token.
  'gateway.redemption_token': 'select(expires_at)',
}

test('the service may write what its statements write, and read what it needs', async () => {
  const written = await readWrites()
  const expected = Object.fromEntries(
    Object.entries(reads).map(([table, read]) => {
      const { insert, update, deletes } = written.get(table) ?? noWrites()
      const rightOf = (name: string, set: Set<string>) => (set.size > 0 ? [`${name}(${[...set].sort()})`] : [])
      const rights = [...(read ? [read] : []), ...rightOf('insert', insert), ...rightOf('update', update)]
      return [table, [...rights, ...(deletes ? ['delete'] : [])].join(' ')]
    }),
  )
  const rows = await platform<{ table: string; rights: string }[]>`
    select format('%I.%I', nspname, relname) as table,
           (select coalesce(string_agg(
                     case when columns is null or whole and name = 'select' then name
                          else name || '(' || columns || ')' end, ' ' order by place), '')
            from unnest('{select,insert,update,delete,truncate,references,trigger}'::text[]) with ordinality as kind(name, place),
                 lateral (select has_table_privilege('voucher_gateway', pg_class.oid, name) as whole) as table_right,
                 lateral (select string_agg(attname, ',' order by attname) as columns from pg_attribute
                          where attrelid = pg_class.oid and attnum > 0 and not attisdropped
                            and name in ('select', 'insert', 'update', 'references')
                            and has_column_privilege('voucher_gateway', attrelid, attnum, name)) as column_rights
            where whole or columns is not null) as rights
    from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where relkind in ('r', 'p', 'v', 'm', 'f') and nspname in ('gateway', 'public')
      and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`
  expect(Object.fromEntries(rows.map(({ table, rights }) => [table, rights]))).toEqual(expected)
})

test('only the service and the owner may call the functions that change the sync state', async () => {
  const rows = await platform<{ name: string; service: boolean; public: boolean }[]>`
    select proname as name, has_function_privilege('voucher_gateway', pg_proc.oid, 'execute') as service,
           exists (select from aclexplode(coalesce(proacl, acldefault('f', proowner))) where grantee = 0) as public
    from pg_proc where pronamespace = 'gateway'::regnamespace
      and proname in ('require_full_pass', 'newest_stamp_ahead', 'record_clock', 'detect_server_change',
                      'report_server_change')`
  expect(rows).toHaveLength(5)
  for (const row of rows) expect(row).toEqual({ name: row.name, service: true, public: false })
})

test('no other login can attach a trigger function that has the rights of its owner', async () => {
  const { pool } = await createDatabase()
  for (const name of ['record_deleted_tenant', 'record_truncated', 'record_removal']) {
    const attach = pool.unsafe(`
      create temp table mine (id bigint, tenant_id bigint);
      create trigger x after delete on mine for each row execute function gateway.${name}('a')`)
    await expect(attach.simple()).rejects.toMatchObject({ code: '42501' })
  }
  const rows = await platform`
    select proname from pg_proc
    where pronamespace = 'gateway'::regnamespace and prosecdef and prorettype = 'trigger'::regtype
      and exists (select from aclexplode(coalesce(proacl, acldefault('f', proowner))) where grantee = 0)`
  expect(rows).toEqual([])
})

test('the service owns nothing, and can create nothing', async () => {
  const [rights] = await platform`
    select has_schema_privilege('voucher_gateway', 'gateway', 'create') as gateway,
           has_schema_privilege('voucher_gateway', 'public', 'create') as public,
           (select rolsuper or rolcreaterole or rolcreatedb or rolcanlogin or rolbypassrls from pg_roles
            where rolname = 'voucher_gateway') as powers,
           exists (select from pg_class where relowner = 'voucher_gateway'::regrole) as owns`
  expect(rights).toEqual({ gateway: false, public: false, powers: false, owns: false })
})
