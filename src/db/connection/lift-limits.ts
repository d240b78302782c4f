import type { Sql } from '../sql.ts'

/**
 * Removes the time limits that a login, a database or a pooler sets, and turns off the JIT compiler of PostgreSQL.
 * Servers before 17 have no `transaction_timeout`.
 *
 * @param isLocal true: until the end of the transaction; false: for the session
 */
export const liftLimits = (sql: Sql, isLocal: boolean) =>
  sql
    .unsafe(
      `select /* session.lift_limits */ set_config(name, case name when 'jit' then 'off' else '0' end, ${isLocal}) from pg_settings
       where name in ('statement_timeout', 'transaction_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'jit')`,
    )
    .simple()
