/**
 * Stores a copy in a separate schema of a PostgreSQL database, with one table per list, and one table for the
 * checkpoint.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { Positions } from '../checkpoint.ts'
import { exitCodes, inUseError, SyncError, takenOverError } from '../errors.ts'
import { type ListName, listNames, tableOf } from '../lists.ts'
import type { Change, CopiedRecord, RecordCount, Store } from '../store.ts'
import { type Connection, connect } from './connect.ts'

/**
 * Returns the SQL call that takes the advisory lock of a schema for the session. Behind a pooler, the call takes the
 * lock only for the statement, which is enough to detect a sync without a pooler that holds the lock.
 *
 * @param schema in quotation marks
 */
const tryLockSql = (schema: string, pooled: boolean) =>
  `pg_try_advisory_${pooled ? 'xact_' : ''}lock(hashtext('voucher-gateway sync'), hashtext('${schema}'))`

/**
 * The interval at which a sync behind a pooler extends its lease, in milliseconds. Such a sync cannot hold a session
 * lock.
 */
const leaseInterval = 10_000

/**
 * Returns the SQL expression for the end of a lease. A sync without a pooler holds the lock instead, so its lease has
 * already ended.
 */
const leaseEndSql = (pooled: boolean) =>
  pooled ? `clock_timestamp() + interval '1 minute'` : `timestamptz '-infinity'`

/**
 * `count` is the number of attempts to take the lock, `interval` the time between two attempts in milliseconds. The
 * server needs some time to end the session of a killed sync.
 */
const lockTries = { count: 15, interval: 200 }

/** The number of records that one statement reads. */
const rowsPerStatement = 1_000

/**
 * Returns an SQL `case` statement with one branch per list. The text of the function contains all names of tables, so
 * no name comes from the data of a change.
 */
const listCaseSql = (statement: (table: string) => string) =>
  `case change->>'list' ${listNames.map(list => `when '${list}' then ${statement(tableOf(list))}`).join('\n')} end case;`

/**
 * Returns the statement that creates the schema and the missing tables.
 *
 * @param schema in quotation marks, because a name such as `user` is a reserved word
 */
const tablesSql = (schema: string) => `
  do $schema$ begin
    -- A statement "create schema if not exists" would need the right to create schemas, even when an administrator has
    -- already made this schema.
    if to_regnamespace('${schema}') is null then create schema ${schema}; end if;
  end $schema$;
  ${listNames
    .map(
      list => `create table if not exists ${schema}.${tableOf(list)} (
        tenant_id bigint not null,
        id bigint not null,
        updated_at timestamptz,
        record jsonb not null,
        pass integer not null,
        primary key (tenant_id, id)
      );`,
    )
    .join('\n')}
  create table if not exists ${schema}.sync_position (key text primary key, value jsonb not null);
  create table if not exists ${schema}.sync_lease (
    one integer primary key check (one = 1), run uuid not null, ends_at timestamptz not null
  );`

/**
 * Returns the statement that creates the function `commit`. A call of the function is one statement, so a broken
 * connection leaves either the whole commit or nothing.
 *
 * @param schema in quotation marks
 */
const commitFunctionSql = (schema: string, pooled: boolean) => `
  create or replace function ${schema}.sync_commit(own_run uuid, changes jsonb, positions jsonb) returns boolean
  language plpgsql as $commit$
  declare
    change jsonb;
  begin
    -- The lock is lost with a connection. The run tells whether another sync has opened the copy meanwhile.
    update ${schema}.sync_lease set ends_at = ${leaseEndSql(pooled)} where run = own_run;
    if not found then return false; end if;
    -- Checked after the run: a former sync behind a pooler would otherwise leave the lock in a session that outlasts
    -- the sync.
    ${pooled ? '' : `if not ${tryLockSql(schema, pooled)} then return false; end if;`}
    for change in select * from jsonb_array_elements(changes) loop
      case change->>'kind'
        when 'put' then
          ${listCaseSql(
            table => `
              insert into ${schema}.${table} (tenant_id, id, updated_at, record, pass)
              select (change->>'tenantId')::bigint, (each->>'id')::bigint, (each->>'updatedAt')::timestamptz,
                     each->'record', (change->>'pass')::integer
              from jsonb_array_elements(change->'records') as each
              on conflict (tenant_id, id) do update
              set updated_at = excluded.updated_at, record = excluded.record, pass = excluded.pass;`,
          )}
        when 'remove' then
          ${listCaseSql(
            table => `
              delete from ${schema}.${table} where tenant_id = (change->>'tenantId')::bigint
              and id in (select removed.id::bigint from jsonb_array_elements_text(change->'ids') as removed (id));`,
          )}
        when 'sweep' then
          ${listCaseSql(
            table => `
              delete from ${schema}.${table}
              where tenant_id = (change->>'tenantId')::bigint and pass < (change->>'pass')::integer;`,
          )}
        when 'drop' then
          ${listNames.map(list => `delete from ${schema}.${tableOf(list)} where tenant_id = (change->>'tenantId')::bigint;`).join('\n')}
      end case;
    end loop;
    delete from ${schema}.sync_position where key in (select key from jsonb_each(positions) where value = 'null');
    insert into ${schema}.sync_position select key, value from jsonb_each(positions) where value <> 'null'
    on conflict (key) do update set value = excluded.value;
    return true;
  end
  $commit$;`

/** Stores a copy in a PostgreSQL database. */
export class PostgresStore implements Store {
  private readonly timer: NodeJS.Timeout | undefined

  private constructor(
    private readonly sql: Connection,
    private readonly schema: string,
    private readonly run: string,
    readonly positions: Positions,
    pooled = false,
  ) {
    if (pooled) this.timer = setInterval(() => this.endLease(leaseEndSql(true)).catch(() => {}), leaseInterval).unref()
  }

  /**
   * Opens the copy. Creates the schema and the tables when they are missing.
   *
   * @param url a `postgres://` URL
   * @param schema the schema of the copy: lower-case letters, digits and underscores
   * @param ownRuns the ids of earlier, closed runs of this process; the id of the new run is appended
   */
  static async open(url: string, schema: string, ownRuns: string[]): Promise<PostgresStore> {
    const { sql, pooled } = await connect(url)
    try {
      await requireUnicode(sql)
      await takeLock(sql, schema, pooled)
      await sql.unsafe(`/* copy.define */ ${tablesSql(`"${schema}"`)}`)
      const run = await takeLease(sql, schema, pooled, ownRuns)
      await sql.unsafe(`/* copy.define_commit */ ${commitFunctionSql(`"${schema}"`, pooled)}`)
      return new PostgresStore(sql, schema, run, await readPositions(sql, schema), pooled)
    } catch (error) {
      await sql.end({ timeout: 1 })
      throw error
    }
  }

  /** Opens the copy only for reading. @returns null when there is no copy */
  static async read(url: string, schema: string): Promise<PostgresStore | null> {
    const { sql } = await connect(url)
    try {
      const [row] = await sql<{ found: boolean }[]>`
        select /* copy.find */ to_regclass(${`"${schema}".sync_position`}) is not null as found`
      if (row?.found) return new PostgresStore(sql, schema, '', await readPositions(sql, schema))
    } catch (error) {
      await sql.end({ timeout: 1 })
      throw error
    }
    await sql.end({ timeout: 1 })
    return null
  }

  async counts(): Promise<RecordCount[]> {
    const counts: RecordCount[] = []
    for (const list of listNames) {
      const rows = await this.sql<{ tenantId: number; count: number }[]>`
        select /* copy.count */ tenant_id as "tenantId", count(*) as count
        from ${this.sql(`${this.schema}.${tableOf(list)}`)} group by tenant_id`
      counts.push(...rows.map(row => ({ list, ...row })))
    }
    return counts
  }

  async *records(list: ListName, tenantId: number): AsyncGenerator<CopiedRecord> {
    const { sql } = this
    for (let after = 0; ; ) {
      // The id of a tenant's record is the id of the tenant.
      const range = list === 'tenants' ? sql`tenant_id > ${after}` : sql`tenant_id = ${tenantId} and id > ${after}`
      const rows = await sql<CopiedRecord[]>`
        select /* copy.read */ id, record::text as text from ${sql(`${this.schema}.${tableOf(list)}`)}
        where ${range} order by tenant_id, id limit ${rowsPerStatement}`
      yield* rows
      const last = rows.at(-1)
      if (!last) return
      after = last.id
    }
  }

  async commit(changes: readonly Change[], positions: Positions): Promise<void> {
    const [row] = await this.sql<{ applied: boolean }[]>`
      select /* copy.commit */ ${this.sql(this.schema)}.sync_commit(
        ${this.run}, ${JSON.stringify(changes)}::text::jsonb,
        ${JSON.stringify(Object.fromEntries(positions))}::text::jsonb) as applied`
    if (!row?.applied) throw takenOverError()
  }

  async publish(): Promise<void> {
    // Nothing to do: each commit is already visible to readers.
  }

  async close(): Promise<void> {
    clearInterval(this.timer)
    // If the release fails, the lease expires.
    if (this.timer) await this.endLease(leaseEndSql(false)).catch(() => {})
    await this.sql.end({ timeout: 5 })
  }

  /** Sets the end of the lease, unless another sync has taken the lease. */
  private endLease(at: string) {
    const table = `"${this.schema}".sync_lease`
    return this.sql.unsafe(`update /* copy.lease */ ${table} set ends_at = ${at} where run = $1`, [this.run])
  }
}

/** Checks that the database can store every text. @throws SyncError when the encoding of the database is not UTF8 */
async function requireUnicode(sql: Connection): Promise<void> {
  const [row] = await sql<{ encoding: string }[]>`
    select /* copy.encoding */ current_setting('server_encoding') as encoding`
  if (row?.encoding === 'UTF8') return
  throw new SyncError(
    exitCodes.usage,
    `The database of the copy has the encoding ${row?.encoding}, in which some texts cannot be stored. It must be UTF8. ` +
      "Create another database, and name it with --to: create database copy encoding 'UTF8' locale 'C' template template0;",
  )
}

/**
 * Takes the lock, which the server releases when the connection ends. Behind a pooler, the lock lasts only for the
 * statement.
 *
 * @throws SyncError when another sync holds the lock
 */
async function takeLock(sql: Connection, schema: string, pooled: boolean): Promise<void> {
  // With keepalives, the server notices when the machine of a sync has lost its power, ends the session and releases
  // the lock.
  if (!pooled) {
    await sql`
      select /* copy.keepalive */ set_config('tcp_keepalives_idle', '60', false),
        set_config('tcp_keepalives_interval', '10', false), set_config('tcp_keepalives_count', '6', false)`
  }
  for (let tries = 1; ; tries++) {
    const [row] = await sql.unsafe<{ taken: boolean }[]>(
      `select /* copy.lock */ ${tryLockSql(`"${schema}"`, pooled)} as taken`,
    )
    if (row?.taken) return
    if (tries === lockTries.count) throw inUseError('Another process')
    await pause(lockTries.interval)
  }
}

/**
 * Takes the lease, which only a sync behind a pooler extends. From then on, the commits of earlier runs fail, even
 * commits of this process that the server still executes.
 *
 * @returns the id of this run
 * @throws SyncError when another sync behind a pooler has the lease
 */
async function takeLease(sql: Connection, schema: string, pooled: boolean, ownRuns: string[]): Promise<string> {
  const run = randomUUID()
  // Records the id before the statement, because an outage may lose the answer of the statement.
  ownRuns.push(run)
  const table = `"${schema}".sync_lease`
  const taken = await sql.unsafe(
    `insert into /* copy.take */ ${table} as lease values (1, $1, ${leaseEndSql(pooled)})
     on conflict (one) do update set run = excluded.run, ends_at = excluded.ends_at
     where lease.ends_at < clock_timestamp() or lease.run::text = any(string_to_array($2, ' ')) returning run`,
    [run, ownRuns.join(' ')],
  )
  if (taken.length === 0)
    throw inUseError('A process behind a pooler, or a process that was killed there less than a minute ago,')
  return run
}

async function readPositions(sql: Connection, schema: string): Promise<Positions> {
  const rows = await sql<{ key: string; value: string }[]>`
    select /* copy.positions */ key, value::text as value from ${sql(schema)}.sync_position`
  return new Map(rows.map(({ key, value }) => [key, JSON.parse(value)]))
}
