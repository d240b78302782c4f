import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { calledFunctions, noWrites, readServiceSources, readSourcesAndDocs, readWrites } from './statements.ts'

const { platform } = await createDatabase()

const readableNames = `
  administrator audit_entry broken_mapping category check_progress consent_withdrawal customer definition figure_member figure_rollup foreign_right
  identity invitation kind_grain large_transaction list_head made_object mapping migration note open_scan present_object product rate_window
  record_figure rejected removal request_count request_error rule scan session setting signing_key step step_failure subscription sync_state tenant
  tenant_path token token_export token_tenant variant voucher voucher_count voucher_entry waiting_key waiting_row
  webhook_delivery webhook_endpoint webhook_position webhook_sender`

/** Tables and views that only steps use. Steps run with the rights of the owner. */
const hiddenNames = `
  category_fields customer_fields expected_entry key_field misplaced_reader product_fields quiet_step staged_table template tenant_fields variant_fields view_reference
  voucher_fields`

/**
 * The right to read that the service has on each table and view. Any other right fails the test, except the right to
 * write the columns that its statements write.
 */
const expectedReads: Record<string, string> = {
  ...Object.fromEntries(readableNames.match(/\S+/g)!.map(name => [name, 'select'])),
  ...Object.fromEntries(hiddenNames.match(/\S+/g)!.map(name => [name, ''])),
  // A step locks this table, for which the service needs the right `update`.
  step_lock: 'update',
}

test('the service may write only the columns that its statements write, and read only the tables that it needs', async () => {
  const written = await readWrites()
  const expected = Object.fromEntries(
    Object.entries(expectedReads).map(([table, read]) => {
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
      -- What the former release writes while it is upgraded.
      and obj_description(pg_class.oid, 'pg_class') is distinct from 'Former.'
      and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`
  expect(Object.fromEntries(rows.map(({ table, rights }) => [table, rights]))).toEqual(expected)
})

test('the service may call only functions that its statements call, directly or through functions with its rights', async () => {
  // A function that runs with the rights of the owner also calls other functions as the owner, so its calls do not
  // count.
  const bodies = await platform<{ name: string; definer: boolean; body: string }[]>`
    select proname as name, prosecdef as definer, coalesce(pg_get_function_sqlbody(oid), prosrc) as body
    from pg_proc where pronamespace = 'gateway'::regnamespace`
  const [{ body: evaluated }] = await platform<[{ body: string }]>`
    select /* The service also calls the functions in checks, defaults and views. */ concat_ws(' ',
      (select string_agg(pg_get_constraintdef(pg_constraint.oid), ' ') from pg_constraint
       where contype = 'c' and connamespace = 'gateway'::regnamespace and has_any_column_privilege('voucher_gateway', conrelid, 'insert, update')),
      (select string_agg(pg_get_expr(adbin, adrelid), ' ') from pg_attrdef join pg_class on pg_class.oid = adrelid
       where relnamespace = 'gateway'::regnamespace and has_any_column_privilege('voucher_gateway', adrelid, 'insert, update')),
      (select string_agg(pg_get_indexdef(indexrelid), ' ') from pg_index join pg_class on pg_class.oid = indrelid
       where relnamespace = 'gateway'::regnamespace and has_any_column_privilege('voucher_gateway', indrelid, 'insert, update')),
      (select string_agg(pg_get_viewdef(oid), ' ') from pg_class
       where relnamespace = 'gateway'::regnamespace and relkind = 'v' and has_table_privilege('voucher_gateway', oid, 'select'))) as body`
  const called = new Set<string>()
  const add = (text: string) => {
    for (const name of calledFunctions(text)) {
      if (called.has(name)) continue
      called.add(name)
      for (const { body } of bodies.filter(one => one.name === name && !one.definer)) add(body)
    }
  }
  // The service calls no procedure. Its messages contain `call` statements for an operator.
  add((await readServiceSources()).replaceAll(/\bcall gateway/g, ''))
  add(evaluated)
  const rows = await platform<{ name: string }[]>`
    select distinct proname as name from pg_proc
    where pronamespace = 'gateway'::regnamespace and has_function_privilege('voucher_gateway', oid, 'execute')`
  expect(rows.map(({ name }) => name).sort()).toEqual([...called].sort())
})

test('only the owner and the roles of the gateway may call functions, and neither role may call a trigger function', async () => {
  const rows = await platform`
    select oid::regprocedure::text as name from pg_proc
    cross join lateral aclexplode(coalesce(proacl, acldefault('f', proowner)))
    where pronamespace = 'gateway'::regnamespace and grantee <> proowner and grantee <> 'voucher_gateway_reader'::regrole
      and (grantee <> 'voucher_gateway'::regrole or prorettype = 'trigger'::regtype)`
  expect(rows).toEqual([])
})

/**
 * Functions without a `search_path` setting, which would cost too much per row, each with the reason why they are safe.
 */
const withoutPath = new Map([
  [/^capture_/, 'each name in it is qualified'],
  [/^(is_read|require_step)$/, 'only statements of the service call it, and its sessions have the path'],
  [/^id_of$/, 'each key calls it; each name in it is qualified, and sessions of commands have the path'],
])

test('each function that a command, an operator or a trigger runs has a safe search path', async () => {
  const functions = await platform<{ name: string; isTrigger: boolean; hasPath: boolean; parsed: string | null }[]>`
    select proname as name, prorettype = 'trigger'::regtype as "isTrigger", pg_get_function_sqlbody(oid) as parsed,
           'search_path=pg_catalog, pg_temp' = any(coalesce(proconfig, '{}')) as "hasPath"
    from pg_proc where pronamespace = 'gateway'::regnamespace`
  const unsafe = new Set<string>()
  const seen = new Set<string>()
  /**
   * Also visits the functions that a function without a path calls. PostgreSQL has parsed their bodies, and they run
   * with the path of the caller.
   */
  const visit = (names: readonly string[]) => {
    for (const name of names) {
      if (seen.has(name) || [...withoutPath.keys()].some(pattern => pattern.test(name))) continue
      seen.add(name)
      for (const { hasPath, parsed } of functions.filter(one => one.name === name)) {
        if (hasPath) continue
        if (parsed === null) unsafe.add(name)
        else visit(calledFunctions(parsed))
      }
    }
  }
  visit(calledFunctions(await readSourcesAndDocs()))
  visit(functions.filter(({ isTrigger }) => isTrigger).map(({ name }) => name))
  expect([...unsafe].sort()).toEqual([])
})

test('the service has no right on the tables of the platform, owns no object, and cannot create any', async () => {
  const rows = await platform`
    select relname from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p', 'v')
      and (has_table_privilege('voucher_gateway', oid, 'select, insert, update, delete, truncate, references, trigger')
           or has_any_column_privilege('voucher_gateway', oid, 'select, insert, update, references'))
      and not exists (select from pg_depend where objid = pg_class.oid and deptype = 'e')`
  expect(rows).toEqual([])
  const [rights] = await platform`
    select has_schema_privilege('voucher_gateway', 'gateway', 'create') as gateway,
           has_schema_privilege('voucher_gateway', 'public', 'create') as public,
           (select rolsuper or rolcreaterole or rolcreatedb or rolcanlogin or rolbypassrls from pg_roles
            where rolname = 'voucher_gateway') as powers,
           exists (select from pg_class where relowner = 'voucher_gateway'::regrole) as owns`
  expect(rights).toEqual({ gateway: false, public: false, powers: false, owns: false })
})
