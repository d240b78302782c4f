/**
 * Checks that the triggers of `sql/` are in the database and enabled, and that no trigger of the platform can undo what
 * they do. Not checked: the bodies of their functions, their `when` conditions, the triggers of foreign keys, and what a
 * trigger of the platform sets (for example `gateway.keep_updated_at`). Rules need no check: the statements that they
 * make set off the triggers of the tables that they write.
 */

import { isNewerThanCode } from './migrate.ts'
import { type Firing, listTriggers, ownTriggers, type TableTriggers } from './own-triggers.ts'
import { arrayText, type Sql } from './sql.ts'

/** Reports triggers that are not as `sql/` makes them: clients would miss changes. */
export interface TriggerWatch {
  /**
   * Reads the catalog.
   *
   * @param sql a pool of any role
   * @returns a sentence for each problem, with its remedy, no older than the call; none when all triggers are right, or
   *   when the database is newer than this code
   */
  check(sql: Sql): Promise<string[]>
}

/**
 * Creates the watch.
 *
 * @param onChange called with the problems when they differ from the check before; before the first check there are none
 */
export function createTriggerWatch(onChange: (problems: string[]) => void): TriggerWatch {
  let latest: string[] = []
  return {
    async check(sql) {
      const problems = await findProblems(sql)
      if (problems.join('\n') !== latest.join('\n')) onChange(problems)
      latest = problems
      return problems
    },
  }
}

/** A trigger in the catalog. `quoted` and `function` are as SQL writes them. */
interface CatalogTrigger {
  table: string
  name: string
  quoted: string
  enabled: keyof typeof stateOf
  function: string
  /** True when its function is in schema gateway. */
  own: boolean
  /** For a row trigger before insert or update: the stamping trigger that fires before it, else null. */
  after: string | null
}

/** The states of `pg_trigger.tgenabled`. */
const stateOf = { A: 'always', O: 'origin', R: 'replica', D: 'disabled' } as const

/** The clause of `alter table` that enables a trigger. */
const enabling = { always: 'enable always', origin: 'enable', replica: 'enable replica' } as const

const sessions = {
  always: 'fires for all sessions',
  origin: 'fires for ordinary sessions and not for replication appliers',
  replica: 'fires for replication appliers and not for ordinary sessions',
  disabled: 'is disabled',
}

const recreate = 'Create it again with the statement of the newest migration in sql/ that names it.'

async function findProblems(sql: Sql): Promise<string[]> {
  const expected = await readExpected(sql)
  const tables = arrayText(Object.keys(expected))
  const found = await readTriggers(sql, tables)
  const inheritance = await findInheritance(sql, tables)
  // This check comes last: a migration that is applied during the checks is not a problem of instances of the former
  // version.
  if (await isNewerThanCode(sql)) return []
  const byName = new Map(found.map(trigger => [`${trigger.table} ${trigger.name}`, trigger]))
  const own = Object.entries(expected).flatMap(([table, triggers]) =>
    Object.entries(triggers).flatMap(([name, firing]) =>
      describeOwn(`Trigger ${name} of table ${table}`, firing, byName.get(`${table} ${name}`)),
    ),
  )
  return [...own, ...found.flatMap(trigger => describeForeign(trigger, expected[trigger.table])), ...inheritance]
}

function describeOwn(subject: string, firing: Firing, found: CatalogTrigger | undefined): string[] {
  if (!found) return [`${subject} is missing. ${recreate}`]
  if (!found.own) return [`${subject} calls ${found.function}, which is not of schema gateway. ${recreate}`]
  const state = stateOf[found.enabled]
  if (state === firing) return []
  return [`${subject} ${sessions[state]}. Run: alter table ${found.table} ${enabling[firing]} trigger ${found.quoted};`]
}

function describeForeign(found: CatalogTrigger, triggers: TableTriggers | undefined): string[] {
  const { table, name, quoted, enabled, own, after } = found
  if (own || after === null || stateOf[enabled] === 'disabled' || !triggers?.[after] || triggers[name]) return []
  return [
    `Trigger ${quoted} of table ${table} fires after ${after}, so it can overwrite updated_at, and what it changes is ` +
      `not stamped. Rename it so that it sorts before ${after}: alter trigger ${quoted} on ${table} rename to …;`,
  ]
}

/** Reads which triggers each table must have: the triggers of all lists, and the table's own. */
async function readExpected(sql: Sql): Promise<Record<string, TableTriggers>> {
  const lists = await sql<{ table: string }[]>`
    select /* triggers.read_lists */ 'public.' || quote_ident(name) as table from gateway.list`
  return { ...Object.fromEntries(lists.map(({ table }) => [table, listTriggers])), ...ownTriggers }
}

/** Reads all triggers of the tables except those that Postgres makes for foreign keys. */
function readTriggers(sql: Sql, tables: string): Promise<CatalogTrigger[]> {
  // tgtype: 1 is row, 2 before, 4 insert, 16 update. Triggers fire in the order of bytes, as the type `name` compares.
  return sql<CatalogTrigger[]>`
    select /* triggers.read */ listed as table, tgname as name, quote_ident(tgname) as quoted, tgenabled as enabled,
           tgfoid::regprocedure::text as function, pronamespace = 'gateway'::regnamespace as own,
           case when tgtype & 3 = 3 and tgtype & 20 > 0 and tgname > 'z_stamp' then 'z_stamp' end as after
    from unnest(${tables}::text::text[]) as listed
    join pg_trigger on tgrelid = to_regclass(listed)
    join pg_proc on pg_proc.oid = tgfoid
    where not tgisinternal
    order by listed, tgname`
}

/**
 * Finds tables that inherit from one of ours, or that one of ours inherits from: a statement that names the parent sets off
 * no statement triggers of the child, and the child has no triggers of the parent.
 *
 * @returns a sentence for each of them, with its remedy
 */
async function findInheritance(sql: Sql, tables: string): Promise<string[]> {
  const related = await sql<{ parent: string; child: string; ours: boolean; partition: boolean }[]>`
    select /* triggers.read_inheritance */ inhparent::regclass::text as parent, inhrelid::regclass::text as child,
           to_regclass(listed) = inhrelid as ours, relispartition as partition
    from unnest(${tables}::text::text[]) as listed
    join pg_inherits on to_regclass(listed) in (inhparent, inhrelid)
    join pg_class on pg_class.oid = inhrelid
    order by parent, child`
  return related.map(({ parent, child, ours, partition }) => {
    const what = ours
      ? `a statement that names ${parent} sets off no statement triggers of ${child}`
      : `rows of ${child} are listed, but the triggers of ${parent} are not set off by statements that name ${child}`
    const remedy = partition
      ? `alter table ${parent} detach partition ${child};`
      : `alter table ${child} no inherit ${parent};`
    return `Table ${child} ${partition ? 'is a partition of' : 'inherits from'} ${parent}: ${what}. Run: ${remedy}`
  })
}
