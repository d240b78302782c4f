/** A copy in a schema of its own of a PostgreSQL database: a table for each list, and the checkpoint beside them. */
import { randomUUID } from 'node:crypto'
import { connect, type Pool } from '../../db/connect.ts'
import type { Positions } from '../checkpoint.ts'
import { listNames, tableOf } from '../lists.ts'
import type { Change, Store } from '../store.ts'
import { takenOver } from './taken-over.ts'

/**
 * The tables, and the function that applies a commit. It is one statement to its caller, so a connection that breaks
 * leaves all of it or nothing.
 *
 * @param schema in quotation marks: a name such as `user` is a word of SQL
 */
const definitions = (schema: string) => `
  create schema if not exists ${schema};
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
  create table if not exists ${schema}.sync_run (one integer primary key check (one = 1), run uuid not null);
  create or replace function ${schema}.sync_commit(own_run uuid, changes jsonb, positions jsonb) returns boolean
  language plpgsql as $commit$
  declare
    change jsonb;
    place text;
  begin
    perform from ${schema}.sync_run where run = own_run for update;
    if not found then return false; end if;
    for change in select * from jsonb_array_elements(changes) loop
      place := '${schema}.' || replace(change->>'list', '-', '_');
      case change->>'kind'
        when 'put' then
          execute 'insert into ' || place || ' (tenant_id, id, updated_at, record, pass)
            select $1, (each->>0)::bigint, (each->>1)::timestamptz, each->2, $2 from jsonb_array_elements($3) as each
            on conflict (tenant_id, id) do update
            set updated_at = excluded.updated_at, record = excluded.record, pass = excluded.pass'
            using (change->>'tenantId')::bigint, (change->>'pass')::integer, change->'records';
        when 'remove' then
          execute 'delete from ' || place || ' where tenant_id = $1
            and id in (select removed.id::bigint from jsonb_array_elements_text($2) as removed (id))'
            using (change->>'tenantId')::bigint, change->'ids';
        when 'sweep' then
          execute 'delete from ' || place || ' where tenant_id = $1 and pass < $2'
            using (change->>'tenantId')::bigint, (change->>'pass')::integer;
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

/** A record as the function takes it. */
const recordText = (id: number, updatedAt: string | null, json: string) =>
  `[${id},${JSON.stringify(updatedAt)},${json}]`

/** Writes a change as JSON. The records are JSON already, and are not parsed again. */
function changeText(change: Change): string {
  if (change.kind !== 'put') return JSON.stringify(change)
  const { records, ...rest } = change
  const texts = records.map(({ id, updatedAt, json }) => recordText(id, updatedAt, json))
  return `${JSON.stringify(rest).slice(0, -1)},"records":[${texts.join(',')}]}`
}

/** A copy in a PostgreSQL database. */
export class PostgresStore implements Store {
  private constructor(
    private readonly pool: Pool,
    private readonly schema: string,
    private readonly run: string,
    readonly positions: Positions,
  ) {}

  /**
   * Opens the copy. The schema and its tables are created when they do not exist.
   *
   * @param url a `postgres://` URL
   * @param schema the schema of the copy: lower-case letters, digits and underscores
   */
  static async open(url: string, schema: string): Promise<PostgresStore> {
    const pool = connect(url, { max: 1, statementTimeoutMs: 0 })
    try {
      await pool.unsafe(`/* copy.define */ ${definitions(`"${schema}"`)}`)
      const run = randomUUID()
      await pool`
        insert into /* copy.take */ ${pool(schema)}.sync_run values (1, ${run})
        on conflict (one) do update set run = excluded.run`
      const rows = await pool<{ key: string; value: string }[]>`
        select /* copy.positions */ key, value::text as value from ${pool(schema)}.sync_position`
      return new PostgresStore(pool, schema, run, new Map(rows.map(({ key, value }) => [key, JSON.parse(value)])))
    } catch (error) {
      await pool.end({ timeout: 1 })
      throw error
    }
  }

  async commit(changes: readonly Change[], positions: Positions): Promise<void> {
    const changesText = `[${changes.map(changeText).join(',')}]`
    const positionsText = JSON.stringify(Object.fromEntries(positions))
    const [row] = await this.pool<{ applied: boolean }[]>`
      select /* copy.commit */ ${this.pool(this.schema)}.sync_commit(
        ${this.run}, ${changesText}::text::jsonb, ${positionsText}::text::jsonb) as applied`
    if (!row?.applied) throw takenOver()
  }

  async publish(): Promise<void> {
    // Each commit is visible to readers already.
  }

  async close(): Promise<void> {
    await this.pool.end({ timeout: 5 })
  }
}
