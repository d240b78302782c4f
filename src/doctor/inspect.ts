/** The facts that `doctor` judges: of the server, of the gateway, of Redis, of the standbys and of a platform. */
import { once } from 'node:events'
import type { Config } from '../config/config.ts'
import { connect, serviceRole } from '../db/connect.ts'
import { describeMigrations } from '../db/migrate.ts'
import { codeOf } from '../db/outage.ts'
import { checkStandbys } from '../db/record-pool.ts'
import type { Pool, Sql } from '../db/sql.ts'
import type { StandbyPools, StandbyState } from '../db/standby.ts'
import { readServer as readPlatformServer } from '../staging/server.ts'

/** Facts of the server. The names of the inner ones are those in the texts of their reasons. */
interface ServerFacts {
  version: string
  /** The login, quoted for SQL. */
  login: string
  /** False: the sessions of other logins are hidden from it. */
  seesSessions: boolean
  vacuums: boolean
  invalidIndexes: { index: string; statement: string }[]
  bloatedIndexes: { index: string; size: string; rows: number }[]
  /** Those that are open for longer than is asked for. */
  transactions: { who: string; since: string; statement: string }[]
  prepared: { name: string; login: string; database: string; since: string; statement: string }[]
  unusedSlots: { slot: string; kept: string; statement: string }[]
  neverVacuumed: { table: string }[]
  behindVacuum: { table: string; rows: number }[]
  /** Rights that `sql/` grants to the service, and that it lacks. */
  missingGrants: { object: string; statement: string }[]
}

/** Facts of the gateway, as its service reads them. */
interface GatewayFacts {
  transactionTimeout: string
  setTimeout: string
  /** The mode that PgBouncer reports, from 1.26 on; `unknown` for other poolers; null: there is none. */
  pooler: string | null
  rejected: { record: string; why: string; keys: number; examples: string }[]
}

/** What is done with rates when Redis is full; null: rates are not in Redis. */
type RedisFacts = { policy: string } | { error: string } | null

export interface Facts {
  server: ServerFacts
  gateway: GatewayFacts
  redis: RedisFacts
  standbys: StandbyState[]
  /** The code of the error of a platform on another server; null: it can be used, or there is none. */
  platformError: string | null
}

/**
 * Reads the facts in one pass. Nothing is changed.
 *
 * @param owner connections of the login
 * @param pool connections of the service
 * @param standbys its connections to each standby
 * @param openFor transactions that are open for longer are named; in seconds
 */
export async function inspect(
  { owner, pool, standbys }: { owner: Pool; pool: Pool; standbys: readonly StandbyPools[] },
  { redisUrl, platformUrl, openFor }: Pick<Config, 'redisUrl' | 'platformUrl'> & { openFor: number },
): Promise<Facts> {
  const [gateway, redis, states, platformError] = await Promise.all([
    readGateway(pool),
    readRedis(redisUrl),
    readStandbys(pool, standbys),
    findPlatformError(platformUrl),
  ])
  // Alone, because it would name the transactions of the others.
  return { server: await readServer(owner, openFor), gateway, redis, standbys: states, platformError }
}

/** An index with more bytes for each row, and of this size, is bloated. */
const bloat = { bytesOfRow: 1_000, bytes: 2 ** 24 }

async function readServer(sql: Sql, openFor: number): Promise<ServerFacts> {
  const [facts] = await sql<[ServerFacts]>`
    with index_in_gateway as (
      select format('%I.%I', nspname, relname) as name, relname, pg_relation_size(indexrelid) as bytes, reltuples, indisvalid, amname
      from pg_index join pg_class on pg_class.oid = indexrelid join pg_namespace on pg_namespace.oid = relnamespace
      join pg_am on pg_am.oid = relam
      where nspname = 'gateway'
    )
    select /* doctor.read_server */
      current_setting('server_version') as version, quote_ident(session_user) as login,
      pg_has_role(session_user, 'pg_read_all_stats', 'usage') as "seesSessions",
      current_setting('autovacuum') = 'on' and current_setting('track_counts') = 'on' as vacuums,
      array_to_json(array(
        select json_build_object('index', name, 'statement', format(
          case when relname ~ '_cc(new|old)[0-9]*$' then 'drop index concurrently %s;' else 'reindex index concurrently %s;' end, name))
        from index_in_gateway where not indisvalid)) as "invalidIndexes",
      array_to_json(array(
        select json_build_object('index', name, 'size', pg_size_pretty(bytes), 'rows', reltuples)
        from index_in_gateway
        where amname = 'btree' and bytes > ${bloat.bytes} and reltuples >= 0 and bytes > ${bloat.bytesOfRow} * reltuples)) as "bloatedIndexes",
      array_to_json(array(
        select json_build_object(
          'who', concat_ws(', ', 'Backend ' || pid, 'login ' || usename, 'database ' || datname,
                           'application ' || nullif(application_name, ''), state),
          'since', xact_start::timestamptz(0), 'statement', format('select pg_terminate_backend(%s);', pid))
        from pg_stat_activity
        where xact_start < clock_timestamp() - make_interval(secs => ${openFor}) and pid <> pg_backend_pid()
          and coalesce(backend_xid, backend_xmin) is not null and backend_type in ('client backend', 'walsender')
      )) as transactions,
      array_to_json(array(
        select json_build_object('name', gid, 'login', owner, 'database', database, 'since', prepared::timestamptz(0),
                                 'statement', format('rollback prepared %L;', gid))
        from pg_prepared_xacts where prepared < clock_timestamp() - make_interval(secs => ${openFor}))) as prepared,
      array_to_json(array(
        select json_build_object(
          'slot', slot_name, 'kept', pg_size_pretty(coalesce(pg_wal_lsn_diff(pg_current_wal_lsn(), restart_lsn), 0)),
          'statement', format('select pg_drop_replication_slot(%L);', slot_name))
        from pg_replication_slots where not active)) as "unusedSlots",
      array_to_json(array(
        select json_build_object('table', oid::regclass) from pg_class
        where relnamespace = 'gateway'::regnamespace and reloptions::text ~ 'autovacuum_enabled=(off|false|no|0)')) as "neverVacuumed",
      array_to_json(array(
        select json_build_object('table', relid::regclass, 'rows', n_dead_tup) from pg_stat_all_tables
        where schemaname = 'gateway' and n_dead_tup > 10000 + n_live_tup)) as "behindVacuum",
      array_to_json(array(
        select distinct on (statement) json_build_object('object', object, 'statement', statement)
        from jsonb_to_recordset(${JSON.stringify(expectedGrants())}::text::jsonb)
          as expected (object text, privilege text, columns text[], statement text)
        where case when columns is null then has_table_privilege(${serviceRole}, object, privilege)
                   else (select bool_and(has_column_privilege(${serviceRole}, object, name, privilege)) from unnest(columns) name)
              end is not true
        union all
        select json_build_object('object', signature, 'statement', format('grant execute on function %s to %I;', signature, ${serviceRole}::text))
        from pg_proc, format('%s', oid::regprocedure) as signature
        where pronamespace = 'gateway'::regnamespace and prokind = 'f' and prorettype <> 'trigger'::regtype
          and not has_function_privilege(${serviceRole}, oid, 'execute'))) as "missingGrants"`
  return facts
}

/** The end of a grant to the service. */
const grantee = ` to ${serviceRole}`

/** Returns the rights on tables that the migrations grant to the service, each with its statement. */
function expectedGrants() {
  const statements = describeMigrations()
    .join('\n')
    .replaceAll(/^--.*/gm, '')
    .split(';')
    .map(text => text.replaceAll(/\s+/g, ' ').trim())
  return statements.flatMap(statement => {
    const [privileges = '', tables = ''] = statement.replace(/^grant /, '').split(' on ')
    if (!statement.startsWith('grant ') || !tables.startsWith('gateway.') || !tables.endsWith(grantee)) return []
    return tables
      .slice(0, -grantee.length)
      .split(', ')
      .flatMap(table =>
        [...privileges.matchAll(/(\w+)(?: \(([^)]*)\))?/g)].map(([, privilege, columns]) => ({
          ...{ object: table, privilege, columns: columns?.split(', ') ?? null },
          statement: `${statement};`,
        })),
      )
  })
}

async function readGateway(pool: Pool): Promise<GatewayFacts> {
  const rows = await pool<[Omit<GatewayFacts, 'pooler'> & { pid: number }]>`
    select /* doctor.read_gateway */ pg_backend_pid() as pid,
      coalesce(current_setting('transaction_timeout', true), '0') as "transactionTimeout",
      format('alter role %I in database %I set transaction_timeout = 0;', session_user, current_database()) as "setTimeout",
      array_to_json(array(
        select json_build_object('record', record, 'why', why, 'keys', count(*),
                                 'examples', array_to_string((array_agg(key order by key))[1:10], ', '))
        from (select record, key, regexp_replace(split_part(reason, ': ', 1), '".*"', '"…"') as why from gateway.rejected) row
        group by record, why order by record, why)) as rejected`
  const [{ pid, ...facts }] = rows
  // A pooler gives its clients numbers of its own.
  const unreported = rows.state.pid === pid ? null : 'unknown'
  return { ...facts, pooler: String(pool.parameters['pgbouncer.pool_mode'] ?? '') || unreported }
}

async function readRedis(url: string | undefined): Promise<RedisFacts> {
  if (url === undefined) return null
  // Loaded when it is needed: it takes longer than all else of most commands.
  const { connectRedis } = await import('../db/redis.ts')
  const redis = connectRedis(url)
  try {
    await once(redis, 'ready', { signal: AbortSignal.timeout(2_000) })
    return { policy: /^maxmemory_policy:(\S+)/m.exec(await redis.info('memory'))?.[1] ?? 'unknown' }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  } finally {
    redis.disconnect()
  }
}

/** Reads the states of standbys, each of which must also be of the cluster of the primary. */
async function readStandbys(pool: Pool, standbys: readonly StandbyPools[]): Promise<StandbyState[]> {
  if (standbys.length === 0) return []
  const states = await checkStandbys(pool, standbys)
  const [primary, ...clusters] = await Promise.all([pool, ...standbys.map(({ probe }) => probe)].map(readCluster))
  return states.map((state, index) => {
    const isSame = (clusters[index] ?? primary) === primary
    return state.problem !== null || isSame ? state : { ...state, problem: 'STANDBY_REPLACED' }
  })
}

/** Returns the identity that standbys share with their primary; undefined: it cannot be read. */
async function readCluster(sql: Sql): Promise<string | undefined> {
  const rows = await sql<[{ cluster: string }]>`
    select /* doctor.read_cluster */ system_identifier::text as cluster from pg_control_system()`.catch(() => null)
  return rows?.[0].cluster
}

async function findPlatformError(url: string | undefined): Promise<string | null> {
  if (url === undefined) return null
  const platform = connect(url, { max: 1, statementTimeoutMs: 4_000, answerTimeoutMs: 4_500 })
  try {
    await readPlatformServer(platform)
    return null
  } catch (error) {
    return codeOf(error)
  } finally {
    await platform.end({ timeout: 1 })
  }
}
