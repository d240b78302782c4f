/**
 * Checks that the triggers of `sql/` are in the database and enabled, and that no trigger of the platform can undo what
 * they do. Not checked: the bodies of their functions, their `when` conditions, the triggers of foreign keys, and what a
 * trigger of the platform sets (such as `gateway.keep_updated_at`). Rules need no check: the statements that they make
 * set off the triggers of the tables that they write.
 */
import { arrayText, type Sql } from './connect.ts'
import { isNewerThanCode } from './migrate.ts'
import { type Firing, ownTriggers } from './own-triggers.ts'

const tables = arrayText(Object.keys(ownTriggers))

/** Watches the triggers, so that what undoes a stamp is reported and not only missed by the clients. */
export interface TriggerWatch {
  /**
   * Reads the catalogue. Calls that come while it is being read share the reading after that, so each result is no
   * older than its call.
   *
   * @returns a sentence for each fault, with its remedy; none when all is well, or when the database is newer than
   *   this code
   */
  look(): Promise<string[]>
}

/**
 * @param sql what the catalogue is read through; any role may
 * @param onChange called with the errors when they are others than at the look before; none were before the first
 */
export function createTriggerWatch(sql: Sql, onChange: (fieldErrors: string[]) => void): TriggerWatch {
  let known: string[] = []
  let running: Promise<string[]> | null = null
  let next: Promise<string[]> | null = null

  async function read(): Promise<string[]> {
    const fieldErrors = await findFaults(sql)
    if (fieldErrors.join('\n') !== known.join('\n')) onChange(fieldErrors)
    known = fieldErrors
    return fieldErrors
  }

  function begin(): Promise<string[]> {
    const mine = read()
    running = mine
    next = null
    const end = () => {
      if (running === mine) running = null
    }
    mine.then(end, end)
    return mine
  }

  return {
    look() {
      if (!running) return begin()
      next ??= running.then(begin, begin)
      return next
    },
  }
}

/** A trigger as the catalogue has it; `quoted` and `function` are as SQL writes them. */
interface Found {
  table: string
  name: string
  quoted: string
  enabled: keyof typeof stateOf
  function: string
  /** Whether its function is in schema gateway. */
  own: boolean
  /** Of a row trigger before insert or update: the stamping trigger of the event that it fires after, else null. */
  after: string | null
}

/** `pg_trigger.tgenabled`. */
const stateOf = { A: 'always', O: 'origin', R: 'replica', D: 'disabled' } as const

/** How `alter table` enables a trigger. */
const enabling = { always: 'enable always', origin: 'enable', replica: 'enable replica' } as const

const sessions = {
  always: 'fires for all sessions',
  origin: 'fires for ordinary sessions and not for replication appliers',
  replica: 'fires for replication appliers and not for ordinary sessions',
  disabled: 'is disabled',
}

const recreate = 'Create it again with the statement of the newest migration in sql/ that names it.'

async function findFaults(sql: Sql): Promise<string[]> {
  const found = await readTriggers(sql)
  const related = await readRelated(sql)
  // Last: a migration that is applied meanwhile must not look like a fault to instances of the former version.
  if (await isNewerThanCode(sql)) return []
  const byName = new Map(found.map(trigger => [`${trigger.table} ${trigger.name}`, trigger]))
  const own = Object.entries(ownTriggers).flatMap(([table, triggers]) =>
    Object.entries(triggers).flatMap(([name, firing]) =>
      describeOwn(`Trigger ${name} of table ${table}`, firing, byName.get(`${table} ${name}`)),
    ),
  )
  return [...own, ...found.flatMap(describeForeign), ...related]
}

function describeOwn(subject: string, firing: Firing, found: Found | undefined): string[] {
  if (!found) return [`${subject} is missing. ${recreate}`]
  if (!found.own) return [`${subject} calls ${found.function}, which is not of schema gateway. ${recreate}`]
  const state = stateOf[found.enabled]
  if (state === firing) return []
  return [`${subject} ${sessions[state]}. Run: alter table ${found.table} ${enabling[firing]} trigger ${found.quoted};`]
}

function describeForeign({ table, name, quoted, enabled, own, after }: Found): string[] {
  const triggers = ownTriggers[table]
  if (own || after === null || stateOf[enabled] === 'disabled' || !triggers?.[after] || triggers[name]) return []
  return [
    `Trigger ${quoted} of table ${table} fires after ${after}, so it can overwrite updated_at, and what it changes is ` +
      `not stamped. Rename it so that it sorts before ${after}: alter trigger ${quoted} on ${table} rename to …;`,
  ]
}

/** Reads all triggers of the tables but those that Postgres makes for foreign keys. */
function readTriggers(sql: Sql): Promise<Found[]> {
  // tgtype: 1 is row, 2 before, 4 insert, 16 update. The type `name` compares bytes, as the order of firing does.
  return sql<Found[]>`
    select /* triggers.read */ listed as table, tgname as name, quote_ident(tgname) as quoted, tgenabled as enabled,
           tgfoid::regprocedure::text as function, pronamespace = 'gateway'::regnamespace as own,
           case when tgtype & 3 <> 3 then null
                when tgtype & 4 > 0 and tgname > 'z_stamp_insert' then 'z_stamp_insert'
                when tgtype & 16 > 0 and tgname > 'z_stamp_update' then 'z_stamp_update' end as after
    from unnest(${tables}::text::text[]) as listed
    join pg_trigger on tgrelid = to_regclass(listed)
    join pg_proc on pg_proc.oid = tgfoid
    where not tgisinternal
    order by listed, tgname`
}

/**
 * A statement that names a parent table sets off no statement triggers of its children, and a child table has no
 * triggers of its parent.
 *
 * @returns a sentence for each table that inherits from one of ours, or that one of ours inherits from
 */
async function readRelated(sql: Sql): Promise<string[]> {
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
