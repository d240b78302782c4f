/** Reads the facts for `doctor` about the server, the gateway, Redis, the standbys and a platform. */
import { once } from 'node:events'
import type { Config } from '../config/config.ts'
import { connect } from '../db/connection/connect.ts'
import { codeOf } from '../db/connection/outage.ts'
import { type Drift, readDrift } from '../db/migration/drift.ts'
import type { Pool, Sql } from '../db/sql.ts'
import { checkStandbys } from '../db/standby/record-pool.ts'
import type { StandbyPools, StandbyState } from '../db/standby/standby.ts'
import { type PauseReason, tokenIsActive } from '../domain/event/endpoint.ts'
import { type Reason, ReasonError, reason } from '../reasons.ts'
import { readServer as readPlatformServer } from '../staging/server.ts'

/** Facts of the server. The texts of reasons contain the names of the nested properties. */
interface ServerFacts {
  version: string
  /** The login, quoted for SQL. */
  login: string
  /** False when the login cannot see the sessions of other logins. */
  seesSessions: boolean
  vacuums: boolean
  invalidIndexes: { index: string; statement: string }[]
  bloatedIndexes: { index: string; size: string; rows: number }[]
  /** The transactions that are open for longer than `openFor`. */
  transactions: { who: string; since: string; statement: string }[]
  prepared: { name: string; login: string; database: string; since: string; statement: string }[]
  unusedSlots: { slot: string; kept: string; statement: string }[]
  neverVacuumed: { table: string }[]
  behindVacuum: { table: string; rows: number }[]
}

/** Facts of the gateway, read with the role of the service. */
interface GatewayFacts {
  transactionTimeout: string
  setTimeout: string
  /** The pool mode that PgBouncer reports from version 1.26 on; `unknown` for other poolers; null without a pooler. */
  pooler: string | null
  rejected: { record: string; why: string; keys: number; examples: string[] }[]
  /** Logins that have rights in the schema of the gateway. */
  foreignRights: { login: string; objects: string }[]
  /** The roles that may create objects in schemas of sources, and of extensions that indexes use. */
  openSchemas: { schema: string; login: string; statement: string }[]
  /** Functions, views and other code of other owners that ran when a mapping was installed. */
  codeOfOthers: { record: string; owner: string; objects: string }[]
  /** The webhooks that are paused, but not by an administrator. */
  pausedWebhooks: { id: number; token: number; since: string; pauseReason: PauseReason }[]
}

/** `policy` says what the Redis for rates does when its memory is full. Null when rates are not counted in Redis. */
type RedisFacts = { policy: string } | { error: string } | null

export interface Facts {
  server: ServerFacts
  gateway: GatewayFacts
  drift: readonly Drift[]
  redis: RedisFacts
  standbys: StandbyState[]
  /**
   * The reasons why the platform's server cannot be used; empty when it can be used or when no other server is
   * configured.
   */
  platform: readonly Reason[]
}

/**
 * Reads the facts in one pass. Nothing is changed.
 *
 * @param owner connections of the login
 * @param pool connections of the service
 * @param standbys the service's connections to each standby
 * @param openFor the age from which open transactions are listed, in seconds
 */
export async function inspect(
  { owner, pool, standbys }: { owner: Pool; pool: Pool; standbys: readonly StandbyPools[] },
  { redisUrl, platformUrl, openFor }: Pick<Config, 'redisUrl' | 'platformUrl'> & { openFor: number },
): Promise<Facts> {
  const [gateway, drift, redis, states, platform] = await Promise.all([
    readGateway(pool),
    readDrift(pool),
    readRedis(redisUrl),
    readStandbys(pool, standbys),
    checkPlatform(platformUrl),
  ])
  // The server is read last, because a concurrent read would list the transactions of the other reads.
  return { server: await readServer(owner, openFor), gateway, drift, redis, standbys: states, platform }
}

/** An index that exceeds both sizes counts as bloated: the bytes per row, and the bytes in total. */
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
        where schemaname = 'gateway' and n_dead_tup > 10000 + n_live_tup)) as "behindVacuum"`
  return facts
}

async function readGateway(pool: Pool): Promise<GatewayFacts> {
  const rows = await pool<[Omit<GatewayFacts, 'pooler'> & { pid: number }]>`
    select /* doctor.read_gateway */ pg_backend_pid() as pid,
      coalesce(current_setting('transaction_timeout', true), '0') as "transactionTimeout",
      format('alter role %I in database %I set transaction_timeout = 0;', session_user, current_database()) as "setTimeout",
      array_to_json(array(
        select json_build_object('record', record, 'why', why, 'keys', count(*),
                                 'examples', (array_agg(key order by key))[1:10])
        from (select record, key, regexp_replace(split_part(reason, ': ', 1), '".*"', '"…"') as why from gateway.rejected) row
        group by record, why order by record, why)) as rejected,
      array_to_json(array(
        select json_build_object('login', login, 'objects', array_to_string((array_agg(object order by object))[1:5], ', ')
                                                            || case when count(*) > 5 then format(' and %s more', count(*) - 5) else '' end)
        from gateway.foreign_right group by login order by login)) as "foreignRights",
      array_to_json(array(
        select json_build_object('schema', nspname, 'login', login,
                                 'statement', format('revoke create on schema %I from %s;', nspname, login))
        from pg_namespace cross join lateral aclexplode(coalesce(nspacl, acldefault('n', nspowner)))
        left join pg_roles on pg_roles.oid = grantee
        cross join lateral (select case grantee when 0 then 'public' else quote_ident(rolname) end as login) named
        where privilege_type = 'CREATE' and rolsuper is not true and nspname <> 'gateway'
          and grantee not in (nspowner, (select nspowner from pg_namespace where nspname = 'gateway'))
          and (pg_namespace.oid in (select relnamespace from gateway.rule join pg_class on pg_class.oid = to_regclass(source))
               or pg_namespace.oid in (select extnamespace from pg_extension where extname in ('pg_trgm', 'btree_gin')))
        order by nspname, login)) as "openSchemas",
      array_to_json(array(
        select json_build_object('record', record, 'owner', owner, 'objects', string_agg(distinct object, ', '))
        from gateway.mapping, jsonb_to_recordset(code) as code (owner text, object text)
        group by record, owner order by record, owner)) as "codeOfOthers",
      array_to_json(array(
        select json_build_object('id', endpoint.id, 'token', token_id, 'since', to_char(paused_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI'),
                                 'pauseReason', pause_reason)
        from gateway.webhook_endpoint endpoint join gateway.token on token.id = token_id
        where pause_reason <> 'administrator' and ${tokenIsActive(pool)} order by endpoint.id)) as "pausedWebhooks"`
  const [{ pid, ...facts }] = rows
  // Compares process ids, because a pooler reports process ids of its own to its clients.
  const unreported = rows.state.pid === pid ? null : 'unknown'
  return { ...facts, pooler: String(pool.parameters['pgbouncer.pool_mode'] ?? '') || unreported }
}

async function readRedis(url: string | undefined): Promise<RedisFacts> {
  if (url === undefined) return null
  // Imported here, because loading this module takes longer than most commands.
  const { connectRedis } = await import('../redis.ts')
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

/** Reads the states of standbys. Reports a standby that does not belong to the cluster of the primary. */
async function readStandbys(pool: Pool, standbys: readonly StandbyPools[]): Promise<StandbyState[]> {
  if (standbys.length === 0) return []
  const states = await checkStandbys(pool, standbys)
  const [primary, ...clusters] = await Promise.all([pool, ...standbys.map(({ probe }) => probe)].map(readCluster))
  return states.map((state, index) => {
    const isSame = (clusters[index] ?? primary) === primary
    return state.problem !== null || isSame ? state : { ...state, problem: 'STANDBY_REPLACED' }
  })
}

/** Returns the identity that standbys share with their primary; undefined when it cannot be read. */
async function readCluster(sql: Sql): Promise<string | undefined> {
  const rows = await sql<[{ cluster: string }]>`
    select /* doctor.read_cluster */ system_identifier::text as cluster from pg_control_system()`.catch(() => null)
  return rows?.[0].cluster
}

async function checkPlatform(url: string | undefined): Promise<readonly Reason[]> {
  if (url === undefined) return []
  const platform = connect(url, { max: 1, statementTimeoutMs: 4_000, answerTimeoutMs: 4_500 })
  try {
    await readPlatformServer(platform)
    return []
  } catch (error) {
    return error instanceof ReasonError ? error.reasons : [reason('PLATFORM_UNREACHABLE', { error: codeOf(error) })]
  } finally {
    await platform.end({ timeout: 1 })
  }
}
