/** The objects of the schema that differ from the upgrades' result. */
import type { Sql } from '../sql.ts'

/** An object that differs from its state after the last upgrade. */
export interface Drift {
  /** A function with the types of its arguments, or a table or view, with their schema. */
  object: string
  change: 'changed' | 'dropped' | 'added'
}

/** Reads the drift. It is empty at another major version of the server, which writes definitions differently. */
export const readDrift = (sql: Sql) => sql<Drift[]>`
  select /* drift.read */ name as object,
         case when present.md5 is null then 'dropped' when made.md5 is null then 'added' else 'changed' end as change
  from gateway.made_object made full join gateway.present_object present using (name, server)
  where made.md5 is distinct from present.md5
    and current_setting('server_version_num')::integer / 10000 = (select min(made_object.server) from gateway.made_object)
  order by name collate "C"`
