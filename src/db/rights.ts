import { type Sql, serviceRole } from './connect.ts'

/** What a login may do here. */
export interface Rights {
  /** Who logs in, as SQL writes it. */
  login: string
  /** Whether it sees which migrations were applied; true, too, when none was. */
  sees: boolean
  /** Whether it may work as the service's role; null when there is no such role in the cluster. */
  serves: boolean | null
}

/** @param sql a connection of the login's own */
export async function readRights(sql: Sql): Promise<Rights> {
  // From PostgreSQL 16 on, a member may not always become the role.
  const [rights] = await sql<Rights[]>`
    select /* rights.read */ quote_ident(current_user) as login,
           coalesce((select has_schema_privilege(relnamespace, 'usage') and has_table_privilege(pg_class.oid, 'select')
                     from pg_class join pg_namespace on pg_namespace.oid = relnamespace
                     where nspname = 'gateway' and relname = 'migration'), true) as sees,
           (select pg_has_role(oid, case when current_setting('server_version_num')::integer < 160000
                                         then 'member' else 'set' end)
            from pg_roles where rolname = ${serviceRole}) as serves`
  if (!rights) throw new Error('the database does not say what the login may do')
  return rights
}
