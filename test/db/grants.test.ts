import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { noWrites, readWrites } from './writes.ts'

const { platform } = await createDatabase()

const read = `
  administrator audit_entry broken_mapping category check_progress consent_withdrawal customer figure_member figure_rollup
  invitation kind_grain mapping migration note open_scan product rate_window record_figure rejected removal request_count request_error
  rule scan session setting step subscription sync_state tenant tenant_path token token_export token_tenant variant voucher voucher_count
  voucher_text waiting_key waiting_row`

/** Only steps use them, with the rights of the owner. */
const hidden = `
  category_fields customer_fields identity product_fields staged_table tenant_fields variant_fields view_reference
  voucher_fields`

/** The rights of the service on tables and views, besides the columns that its statements write. Others fail the test. */
const reads: Record<string, string> = {
  ...Object.fromEntries(read.match(/\S+/g)!.map(name => [name, 'select'])),
  ...Object.fromEntries(hidden.match(/\S+/g)!.map(name => [name, ''])),
  // A step locks it.
  step_lock: 'update',
  // The service reads only the end of an issued token.
  redemption_token: 'select(expires_at)',
}

test('the service may write what its statements write, and read what it needs', async () => {
  const written = await readWrites()
  const expected = Object.fromEntries(
    Object.entries(reads).map(([table, read]) => {
      const { insert, update, deletes } = written.get(`gateway.${table}`) ?? noWrites()
      const rightOf = (name: string, set: Set<string>) => (set.size > 0 ? [`${name}(${[...set].sort()})`] : [])
      const rights = [...(read ? [read] : []), ...rightOf('insert', insert), ...rightOf('update', update)]
      return [table, [...rights, ...(deletes ? ['delete'] : [])].join(' ')]
    }),
  )
  const rows = await platform<{ table: string; rights: string }[]>`
    select relname as table,
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
    where relkind in ('r', 'p', 'v', 'm', 'f') and nspname = 'gateway'
      and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`
  expect(Object.fromEntries(rows.map(({ table, rights }) => [table, rights]))).toEqual(expected)
})

test('no other login may call a function of the gateway, or attach one to a table of its own as a trigger', async () => {
  const rows = await platform`
    select oid::regprocedure::text as name from pg_proc
    where pronamespace = 'gateway'::regnamespace
      and exists (select from aclexplode(coalesce(proacl, acldefault('f', proowner))) where grantee = 0)`
  expect(rows).toEqual([])
})

test('the service has no right on the tables of the platform', async () => {
  const rows = await platform`
    select relname from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
      and (has_table_privilege('voucher_gateway', oid, 'select, insert, update, delete, truncate, references, trigger')
           or has_any_column_privilege('voucher_gateway', oid, 'select, insert, update, references'))
      and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`
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
