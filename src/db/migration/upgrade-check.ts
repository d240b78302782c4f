/**
 * Finds problems that would stop a migration, and estimates the time and the space that the migration needs. Changes
 * nothing.
 */
import { type Reason, reason } from '../../reasons.ts'
import { serviceRole } from '../connection/connect.ts'
import { describeHolder } from '../connection/lock-retries.ts'
import { type LoginRights, readRights } from '../connection/rights.ts'
import type { Sql } from '../sql.ts'
import { type MigrationState, readMigrations, readUpgrade, refuseUpgrade } from './migrations.ts'
import { releaseOf, releasesBetween } from './releases.ts'
import { needsCaptureAgain } from './upgrade-statements.ts'

/**
 * The number of rows that a server indexes per second. Measured on a busy core: 0.6 to 0.95 million rows, three
 * columns.
 */
const rowsPerSecond = 500_000

interface UpgradeCheck {
  /** The release of the database; null when no release made it. */
  release: string | null
  /** The releases of the upgrade, the oldest first, and the releases among them that cannot be skipped. */
  releases: string[]
  stops: string[]
  /** The files of `sql/` that the upgrade would apply, and the files of `sql/functions` that it would run again. */
  missing: string[]
  made: string[]
  /** The tables of the platform whose triggers would be created again. Writers wait for the lock for 100 ms at most. */
  locks: string[]
  /** The new indexes of tables that have rows, each with the estimated space in bytes and time in seconds. */
  indexes: { count: number; bytes: number; seconds: number }
  findings: Reason[]
}

/**
 * Checks whether `migrate` can run: the rights of the login, the release of the database, and transactions that hold locks.
 *
 * @param sql a connection as the login that migrates
 * @throws `UnreleasedDatabaseError`
 */
export async function checkUpgrade(sql: Sql): Promise<UpgradeCheck> {
  const rights = await readRights(sql)
  const forbidden = await findMissingRights(sql, rights)
  const none = {
    release: null,
    releases: [],
    stops: [],
    missing: [],
    made: [],
    locks: [],
    indexes: { count: 0, bytes: 0, seconds: 0 },
  }
  if (!rights.readsMigrations) return { ...none, findings: forbidden }
  const state = await readMigrations(sql)
  const { releases, stops } = releasesBetween(state.from, state.to)
  const refused = await refuseUpgrade(sql, state)
  const { changed } = refused ? state : await readUpgrade(sql)
  const holders = await findLockHolders(sql, false)
  return {
    release: releaseOf(state.from),
    releases,
    stops: refused?.code === 'RELEASE_SKIPPED' ? stops : [],
    missing: state.missing.map(({ file }) => file),
    made: changed.map(({ file }) => file),
    locks: needsCaptureAgain(changed) ? await readCaptured(sql) : [],
    indexes: await estimateIndexes(sql, state.missing),
    findings: [
      ...forbidden,
      ...(refused ? [refused] : []),
      ...holders.map(facts => reason('MIGRATION_BLOCKED', facts)),
    ],
  }
}

/** Reads the tables of the platform with capture triggers; none in a database without the schema `gateway`. */
async function readCaptured(sql: Sql): Promise<string[]> {
  const rows = await sql<{ name: string }[]>`
    select /* upgrade.read_captured */ tgrelid::regclass::text as name from pg_trigger
    where tgname = 'capture_row' and tgparentid = 0 order by name`
  return rows.map(({ name }) => name)
}

/** Finds the rights that the login needs and does not have, each with the statement that grants the right. */
async function findMissingRights(sql: Sql, { login, setsServiceRole }: LoginRights): Promise<Reason[]> {
  const rows = await sql<{ what: string; statement: string }[]>`
    select /* upgrade.read_rights */ 'create a schema in the database' as what,
           format('grant create on database %I to %s;', current_database(), ${login}::text) as statement
    where to_regnamespace('gateway') is null and not has_database_privilege(current_database(), 'create')
    union all
    select 'create the extension ' || name, format('create extension %I schema public;', name)
    from unnest(array['btree_gin', 'pg_trgm']) name left join pg_extension on extname = name
    where extname is null and to_regnamespace('gateway') is not null and not has_database_privilege(current_database(), 'create')
    union all
    select distinct 'change the schema gateway',
           format(case when is_empty then 'alter schema gateway owner to %2$s;' else 'grant %1$I to %2$s;' end, rolname, ${login}::text)
    from (select nspowner, not exists (select from pg_class where relnamespace = pg_namespace.oid) from pg_namespace where nspname = 'gateway'
          union select relowner, false from pg_class where relnamespace = to_regnamespace('gateway')) owner (oid, is_empty)
    join pg_roles using (oid) where not pg_has_role(oid, 'usage')
    union all
    select 'create tables in the schema public', format('grant create on schema public to %s;', ${login}::text)
    where not exists (select from pg_class where relname = 'mapping' and relnamespace = to_regnamespace('gateway')) and not has_schema_privilege('public', 'create')
    union all
    select format('%s the role %s', case when owned.oid is null then 'create' else 'set' end, wanted),
           case when owned.oid is null then format('create role %s nologin; ', wanted) else '' end || format('grant %s to %s;', wanted, ${login}::text)
    from pg_roles login cross join unnest(array[${serviceRole}::text, 'voucher_gateway_reader']) wanted
    left join pg_roles owned on owned.rolname = wanted
    where login.rolname = session_user and not (login.rolcreaterole or login.rolsuper)
      and coalesce(case wanted when ${serviceRole} then ${setsServiceRole}::boolean else pg_has_role(owned.oid, 'usage') end, false) is not true`
  return rows.map(({ what, statement }) => reason('MIGRATION_FORBIDDEN', { login, what, statement }))
}

/**
 * Finds transactions that have held locks on tables of the gateway, or on sources, for at least five seconds.
 *
 * @param exclusive true finds only exclusive locks, granted or waiting, and the locks of sessions that the login may
 * not see, because their age is unknown
 */
export const findLockHolders = (sql: Sql, exclusive: boolean) => sql<
  Record<'blocker' | 'tables' | 'waiters' | 'statement', string>[]
>`
    select /* locks.find_holders */ ${describeHolder(sql)} as blocker, string_agg(distinct relation::regclass::text, ', ') as tables,
           coalesce((select string_agg(distinct 'backend ' || waiter.pid, ', ') from pg_locks waiter
                     where not waiter.granted and waiter.relation = any(array_agg(pg_locks.relation))
                       and waiter.pid is distinct from pg_locks.pid), 'none') as waiters,
           case when pid is null then 'rollback prepared ''…'';' else format('select pg_terminate_backend(%s);', pid) end as statement
    from pg_locks
    join pg_class on pg_class.oid = relation
    left join pg_stat_activity using (pid)
    where locktype = 'relation' and database = (select oid from pg_database where datname = current_database())
      and (relnamespace = to_regnamespace('gateway') or exists (select from pg_trigger where tgrelid = relation and tgname like 'capture\\_%'))
      and (mode = 'AccessExclusiveLock' or not ${exclusive})
      and coalesce(xact_start < clock_timestamp() - interval '5 seconds', pid is null or ${exclusive}) and pid is distinct from pg_backend_pid()
      and backend_type is distinct from 'autovacuum worker'
    group by pid, application_name, usename, state, xact_start, query`

/**
 * Estimates the indexes that files create on tables that have rows. The estimate assumes that each new index is as
 * large as the largest index of its table.
 */
async function estimateIndexes(sql: Sql, files: MigrationState['missing']): Promise<UpgradeCheck['indexes']> {
  const statements = files.map(({ text }) => text).join('\n')
  const created = statements.matchAll(/\bcreate (?:unique )?index [^;]*?\bon (?:only )?(\w+\.\w+)/gi)
  const tables = [...created].map(([, table = '']) => table)
  const [{ rows, ...row }] = await sql<[{ count: number; bytes: number; rows: number }]>`
    select /* upgrade.estimate_indexes */ count(*)::integer as count, coalesce(sum(greatest(reltuples, 0)), 0) as rows,
           coalesce(sum((select max(pg_relation_size(indexrelid)) from pg_index where indrelid = pg_class.oid)), 0)::float8 as bytes
    from unnest(${`{${tables.join()}}`}::text::text[]) name join pg_class on pg_class.oid = to_regclass(name)
    where reltuples <> 0`
  return { ...row, seconds: Math.ceil(rows / rowsPerSecond) }
}
