/** Shows the record that a mapping makes from the row of one key. */
import { type Mapping, throwWithFile } from '../db/mapping/mappings.ts'
import type { Transaction } from '../db/sql.ts'

/** The record of a key, the platform's row from which it is made, and the changes that wait for a step. */
export interface KeyState {
  /** True when the files equal the installed mapping. Steps evaluate only the installed mapping. */
  isInstalled: boolean
  /** The rows that the select returns for the key now: one row, unless the mapping is wrong. */
  rows: object[]
  /** The reasons why steps will evaluate the key; empty when the key does not wait for a step. */
  notes: string[]
  record: { id: number; tenant_id?: number; reference?: string } | null
  /** The reason why v1 cannot show the row. */
  rejection: string | null
  /** The tenant whose list has the record; null when v1 does not have that tenant. */
  tenantId: number | null
}

/**
 * Reads the state of a key.
 *
 * @param sql a transaction of `withoutTrace`, because this function may add notes
 * @throws an Error that names the file and the line when the select fails
 */
export async function readKeyState(sql: Transaction, mapping: Mapping, key: string): Promise<KeyState> {
  const { record, select, rules, path } = mapping
  const rows = await sql`call /* adoption.create_view */ gateway.create_view('shown', ${select}, ${path})`
    .then(
      () => sql<{ row: object }[]>`
        select /* adoption.find_rows_of_key */ row
        from gateway.read_as_reader(
          format('select to_json(mapping) from pg_temp.shown mapping where key = %L', ${key}::text), null) as (row json)`,
    )
    .catch(error => throwWithFile(error, mapping))
  const [state] = await sql<[Omit<KeyState, 'rows'>]>`
    with /* adoption.find_state_of_key */ given (record, key) as (
      values (${record}::text::gateway.record_type, ${key}::text)
    ), step as (
      select * from gateway.step order by stamp desc limit 1
    ), identified as (
      select *, (gateway.ids_of(record, array[key], false))[1] as id from given
    )
    select to_json(stored) as record,
           (select id from gateway.tenant where id = coalesce((to_json(stored) ->> 'tenant_id')::bigint, stored.id)) as "tenantId",
           (select reason from gateway.rejected where (rejected.record, rejected.key) = (given.record, given.key)) as rejection,
           exists (select from gateway.mapping where mapping.record = given.record
                   and files = jsonb_build_object(
                     'select', ${select}::text, 'rules', ${JSON.stringify(rules)}::text::jsonb, 'path', ${path}::text)) as "isInstalled",
           array_to_json(array(
             select coalesce(reason, 'A row that has this key was written.') from step, gateway.notes_after(snapshot) note
             where note.record = given.record and source is null and coalesce(note.key, given.key) = given.key
             union
             select 'A row that the select reads for it was written.' from step, gateway.affected_keys(snapshot) affected
             where (affected.record, affected.key) = (given.record, given.key)
             union
             select 'It waits behind other keys.' from step, gateway.waiting_key waiting
             where place > waited and (waiting.record, waiting.key) = (given.record, given.key)
             union
             select reason from gateway.scan where scan.record = given.record)) as notes
    from identified given left join ${sql(`gateway.${record}`)} stored using (id)`
  return { rows: rows.map(({ row }) => row), ...state }
}
