import { serviceRole } from './connect.ts'
import type { Sql } from './sql.ts'

export interface LoginRights {
  /** The name of the login, quoted for SQL. */
  login: string
  /** True when it may read the list of applied migrations; also true before the first migration. */
  readsMigrations: boolean
  /** True when it may set the role of the service; null when the cluster has no such role. */
  setsServiceRole: boolean | null
}

/** Reads the rights of the login. @param sql a connection under the role that logs in */
export async function readRights(sql: Sql): Promise<LoginRights> {
  // From PostgreSQL 16 on, some members may not set the role.
  const [rights] = await sql<[LoginRights]>`
    select /* rights.read */ quote_ident(session_user) as login,
           coalesce((select has_schema_privilege(relnamespace, 'usage') and has_table_privilege(pg_class.oid, 'select')
                     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
                     where nspname = 'gateway' and relname = 'migration'), true) as "readsMigrations",
           (select pg_has_role(oid, case when current_setting('server_version_num')::integer < 160000
                                         then 'member' else 'set' end)
            from pg_roles where rolname = ${serviceRole}) as "setsServiceRole"`
  return rights
}
