import { type Reason, reason } from '../../reasons.ts'
import type { Sql } from '../sql.ts'
import { serviceRole } from './connect.ts'

export interface LoginRights {
  /** The name of the login, quoted for SQL. */
  login: string
  /** True when the login may read the list of applied migrations; also true when no migration has run yet. */
  readsMigrations: boolean
  /** True when the login may set the role of the service; null when the server has no such role. */
  setsServiceRole: boolean | null
}

/** Reads the rights of the login. @param sql a connection with the role of the login, not of the service */
export async function readRights(sql: Sql): Promise<LoginRights> {
  // From PostgreSQL 16 on, a membership may exclude the right to set the role.
  const [rights] = await sql<[LoginRights]>`
    select /* rights.read */ quote_ident(session_user) as login,
           coalesce((select has_schema_privilege(pg_namespace.oid, 'usage') and has_table_privilege(pg_class.oid, 'select') is not false
                     from pg_namespace left join pg_class on relnamespace = pg_namespace.oid and relname = 'definition'
                     where nspname = 'gateway'), true) as "readsMigrations",
           (select pg_has_role(oid, case when current_setting('server_version_num')::integer < 160000
                                         then 'member' else 'set' end)
            from pg_roles where rolname = ${serviceRole}) as "setsServiceRole"`
  return rights
}

/**
 * Returns a reason when the login, itself or through a role, has more rights than the service needs; otherwise null.
 *
 * @param replicates true for a platform on another server: then the login must own the tables, and before PostgreSQL 16
 * must be a superuser, because only a superuser may create the subscription
 */
export async function findExcessRights(sql: Sql, replicates: boolean): Promise<Reason[]> {
  const [found] = await sql<[{ login: string; rights: string | null }]>`
    select /* rights.find_excess */ quote_ident(session_user) as login, (
      select string_agg(distinct what, ', ' order by what)
      from pg_roles held cross join lateral (values
        (rolsuper and not (${replicates} and current_setting('server_version_num')::int < 160000), 'is a superuser'),
        (rolcreaterole, 'may create roles'), (rolreplication, 'may replicate'), (rolbypassrls, 'passes row level security'),
        (not ${replicates} and oid = (select nspowner from pg_namespace where nspname = 'gateway'), 'owns the schema gateway'),
        (rolname ~ '^pg_(read_all_data|write_all_data|(read|write)_server_files|execute_server_program)$', 'is a member of ' || rolname)
      ) as found (holds, what)
      where holds and case when own.rolsuper then held.oid = own.oid else pg_has_role(own.oid, held.oid, 'member') end) as rights
    from pg_roles own where rolname = session_user`
  return found.rights === null ? [] : [reason('LOGIN_TOO_STRONG', { login: found.login, rights: found.rights })]
}
