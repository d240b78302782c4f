/** Looks for what would stop a migration, and estimates what it takes. Changes nothing. */
import { type Reason, reason } from '../reasons.ts'
import { describeHolder } from './lock-retries.ts'
import { type MigrationState, readMigrations, refuseUpgrade } from './migrate.ts'
import { releaseOf, releasesBetween } from './releases.ts'
import { type LoginRights, readRights } from './rights.ts'
import type { Sql } from './sql.ts'

/** Rows that a server indexes in a second: 0.6 to 0.95 million rows of three columns on a core that others used too. */
const rowsPerSecond = 500_000

interface UpgradeCheck {
  /** The release of the database; null: of none. */
  release: string | null
  /** The releases that the upgrade passes, the oldest first, and those of them that must run before the next ones. */
  releases: string[]
  stops: string[]
  /** The files that the database lacks. */
  missing: string[]
  /** What these need for indexes of tables that have rows: space in bytes, and time in seconds. */
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
  const none = { release: null, releases: [], stops: [], missing: [], indexes: { count: 0, bytes: 0, seconds: 0 } }
  if (!rights.readsMigrations) return { ...none, findings: forbidden }
  const state = await readMigrations(sql)
  const { releases, stops } = releasesBetween(state.from, state.to)
  const refused = await refuseUpgrade(sql, state)
  return {
    release: releaseOf(state.from),
    releases,
    stops: refused?.code === 'RELEASE_SKIPPED' ? stops : [],
    missing: state.missing.map(({ file }) => file),
    indexes: await estimateIndexes(sql, state.missing),
    findings: [...forbidden, ...(refused ? [refused] : []), ...(await findLongTransactions(sql))],
  }
}

/** Finds the rights that the login lacks, each with the statement that grants it. */
async function findMissingRights(sql: Sql, { login, setsServiceRole }: LoginRights): Promise<Reason[]> {
  const rows = await sql<{ what: string; statement: string }[]>`
    select /* upgrade.read_rights */ 'create a schema in the database' as what,
           format('grant create on database %I to %s;', current_database(), ${login}::text) as statement
    where to_regnamespace('gateway') is null and not has_database_privilege(current_database(), 'create')
    union all
    select distinct 'change the schema gateway', format('grant %I to %s;', rolname, ${login}::text)
    from (select nspowner from pg_namespace where nspname = 'gateway'
          union select relowner from pg_class where relnamespace = to_regnamespace('gateway')) owner (oid)
    join pg_roles using (oid) where not pg_has_role(oid, 'usage')
    union all
    select 'create tables in the schema public', format('grant create on schema public to %s;', ${login}::text)
    where to_regclass('gateway.mapping') is null and not has_schema_privilege('public', 'create')
    union all
    select case when ${setsServiceRole}::boolean is null then 'create the role voucher_gateway' else 'set the role voucher_gateway' end,
           case when ${setsServiceRole}::boolean is null then 'create role voucher_gateway nologin; ' else '' end
             || format('grant voucher_gateway to %s;', ${login}::text)
    from pg_roles where rolname = session_user and not (rolcreaterole or rolsuper) and ${setsServiceRole}::boolean is not true`
  return rows.map(({ what, statement }) => reason('MIGRATION_FORBIDDEN', { login, what, statement }))
}

/** Finds transactions that have held locks of the gateway's tables, or of its sources, for five seconds. */
async function findLongTransactions(sql: Sql): Promise<Reason[]> {
  const rows = await sql<{ blocker: string; statement: string }[]>`
    select /* upgrade.find_blockers */ distinct ${describeHolder(sql)} as blocker,
           case when pid is null then 'rollback prepared ''…'';' else format('select pg_terminate_backend(%s);', pid) end as statement
    from pg_locks
    join pg_class on pg_class.oid = relation
    left join pg_stat_activity using (pid)
    where locktype = 'relation' and database = (select oid from pg_database where datname = current_database())
      and (relnamespace = to_regnamespace('gateway') or exists (select from pg_trigger where tgrelid = relation and tgname like 'capture\\_%'))
      and (xact_start < clock_timestamp() - interval '5 seconds' or pid is null) and pid is distinct from pg_backend_pid()
      and backend_type is distinct from 'autovacuum worker'`
  return rows.map(facts => reason('MIGRATION_BLOCKED', facts))
}

/** Estimates the indexes that files create on tables that have rows. Each is as large as the largest of its table. */
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
