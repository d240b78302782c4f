/** Finds the objects of the schema that were changed after the last upgrade. */
import type { Sql } from '../sql.ts'

/** An object whose definition differs from its definition after the last upgrade. */
export interface Drift {
  /** The name with its schema; the name of a function also has the types of the arguments. */
  object: string
  change: 'changed' | 'dropped' | 'added'
}

/**
 * Reads the drift. It is empty when the server has another major version than at the upgrade, because that version
 * writes definitions differently.
 */
export const readDrift = (sql: Sql) => sql<Drift[]>`
  select /* drift.read */ name as object,
         case when present.md5 is null then 'dropped' when made.md5 is null then 'added' else 'changed' end as change
  from gateway.made_object made full join gateway.present_object present using (name, server)
  where made.md5 is distinct from present.md5
    and current_setting('server_version_num')::integer / 10000 = (select min(made_object.server) from gateway.made_object)
  order by name collate "C"`
