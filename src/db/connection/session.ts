/**
 * Checks the requirements of each session: the search path, and for sessions of the service also the role, the limits,
 * the format of times, and a writable primary. A pooler or a setting of the database can change each of these values
 * without an error.
 */
import { type Reason, ReasonError, reason } from '../../reasons.ts'

/** The error of a database that answers but must not be used. The cause may end without action, like an outage. */
export class DatabaseRefusedError extends ReasonError {
  override readonly name = 'DatabaseRefusedError'
  readonly code = 'DATABASE_REFUSED'
}

export interface SessionRequirements {
  /** The search path of the session. Tests that write as a platform set another path than `ownSearchPath`. */
  searchPath: string
  /**
   * The role of the session. Undefined for a session of a command, of which only the search path and `settings` are
   * checked.
   */
  role: string | undefined
  /** Further settings that the session sends at its start. */
  settings: Readonly<Record<string, string | number>>
  /** The time after which the server must cancel a statement, in milliseconds. */
  statementTimeoutMs: number
  /**
   * True when the connection sends these settings at its start, which poolers refuse. Otherwise the pooler or the login
   * sets them, and the login itself may not change the audit.
   */
  startupParameters: boolean
  /** True when the server may be a standby, because the session only reads records. */
  readsOnly: boolean
  /** True when statements are prepared, which is the default; false with `prepare=false` in the URL. */
  prepares: boolean
}

/** The settings that a connection sends at its start, and that every session must have. */
export const timeFormat = { TimeZone: 'UTC', DateStyle: 'ISO, YMD' }

/**
 * The search path of each session, without `public`, where others may create functions, operators and casts. It names
 * `pg_temp` last, because PostgreSQL would otherwise search it first.
 */
export const ownSearchPath = 'pg_catalog, pg_temp'

/**
 * At this level, statements that count calls or take leases read the latest rows, and do not fail because of concurrent
 * updates.
 */
export const isolation = 'read committed'

/**
 * Settings for statements of figures, which a connection sends at its start. The planner's estimate of their statements
 * is so high that PostgreSQL would compile them for 3 to 10 s, to run for 100 ms: a session with `jit` is refused.
 * `work_mem` is not required: the products of a large group take 15 to 70 % longer when they are grouped on the disk.
 */
export const figureSettings = { jit: 'off', work_mem: '32MB' }

/**
 * Shows `on` when a standby answers. Outside a transaction, a pooler may send a statement without volatile functions to
 * a standby.
 */
export const routeStatement = `select /* session.read_route */ pg_catalog.current_setting('transaction_read_only')`

/**
 * Reads the search path. It calls no function, because with a wrong path the server could run a function of another
 * user. It has no comment, because a replication connection accepts no comment.
 */
export const pathStatement = 'show search_path'

/**
 * Reads the path and the settings of a session without a role. A replication connection has no settings to check, and
 * accepts only one `show`.
 */
export const settingsStatement = ({ settings }: SessionRequirements): string =>
  [pathStatement, ...Object.keys(settings).map(name => `show ${name}`)].join('; ')

/** Sets a safe search path for the functions of the check, in the same transaction. */
export const safePathStatement = `set /* session.set_path */ local search_path = ${ownSearchPath}`

/** Reads, as one row of texts, the values that `requireSession` compares after the search path. */
export const sessionStatement = `select /* session.read */ session_user, current_user,
  (1000 * extract(epoch from current_setting('statement_timeout')::interval))::bigint,
  current_setting('default_transaction_isolation'), current_setting('TimeZone'), current_setting('DateStyle'),
  current_setting('jit'), pg_is_in_recovery(), current_setting('transaction_read_only') = 'on',
  current_setting('server_encoding'),
  coalesce((select bool_or(has_table_privilege(session_user, pg_class.oid, 'delete, truncate')
                            or has_any_column_privilege(session_user, pg_class.oid, 'update'))
            from pg_class join pg_namespace on pg_namespace.oid = relnamespace
            where nspname = 'gateway' and relname = 'audit_entry'), false),
  to_regprocedure('gateway.detect_server_change()') is not null`

/**
 * Requires a full pass of all copies when the server is not the recorded server (`sql/functions/sync-state`). It runs
 * before the first page is read.
 */
export const serverCheck = 'select /* session.detect_server_change */ gateway.detect_server_change()'

/** Returns the statements that end a successful check. @param row as for `requireSession` */
export const sessionCheckEnd = (row: readonly (string | null)[], { readsOnly }: SessionRequirements): string =>
  row.at(-1) === 't' && !readsOnly ? `${serverCheck}; commit` : 'rollback'

/**
 * Compares a session with the requirements.
 *
 * @param row the results of `pathStatement` and `sessionStatement`; for a session without a role the results of
 * `settingsStatement`
 * @param isRouted true when a standby answered the statement outside the transaction
 * @param pooler the parameters that a pooler (PgBouncer from 1.26 on) reports when a connection starts, by name
 * @throws DatabaseRefusedError that lists each difference, and the remedy
 */
export function requireSession(
  row: readonly (string | null)[],
  pooler: ReadonlyMap<string, string>,
  required: SessionRequirements,
  isRouted: boolean,
): void {
  const [
    path,
    login = '',
    role,
    timeout,
    isolated,
    timeZone,
    dateStyle,
    jit,
    standby,
    readOnly,
    encoding,
    changesAudit,
  ] = row.map(String)
  const settings = Object.entries(required.settings).map(([name, wanted], at) => [
    name,
    String(row[1 + at]),
    String(wanted),
  ])
  const expected = [['search_path', path, required.searchPath], ...settings]
  if (required.role !== undefined) {
    requireUnicode(encoding)
    if (!required.readsOnly) {
      if (standby === 't') throw new DatabaseRefusedError(reason('DATABASE_STANDBY'))
      if (readOnly === 't') throw new DatabaseRefusedError(reason('DATABASE_READ_ONLY'))
      if (isRouted) throw new DatabaseRefusedError(reason('DATABASE_ROUTED'))
    }
    const limit = required.statementTimeoutMs
    const isLimited =
      limit === 0 ? !required.startupParameters || timeout === '0' : Number(timeout) > 0 && Number(timeout) <= limit
    expected.push(
      ['the role', role, required.role],
      ['statement_timeout', timeout, isLimited ? timeout : `${limit} ms or less`],
      ['default_transaction_isolation', isolated, isolation],
      ['TimeZone', timeZone, timeFormat.TimeZone],
      ['DateStyle', dateStyle, timeFormat.DateStyle],
      ['jit', jit, figureSettings.jit],
    )
  }
  const problems = expected
    .filter(([, found, wanted]) => found !== wanted)
    .map(([what, found, wanted]) => `${what} is ${found} and not ${wanted}`)
  const reasons: Reason[] = []
  if (problems.length > 0) {
    const code = required.startupParameters ? 'SESSION_DROPS_PARAMETERS' : 'SESSION_LACKS_SETTINGS'
    reasons.push(reason(code, { problems: problems.join(', ') }))
  }
  if (!required.startupParameters && changesAudit === 't') reasons.push(reason('LOGIN_CHANGES_AUDIT', { login }))
  const forgetsStatements =
    required.role !== undefined &&
    pooler.get('pgbouncer.pool_mode') !== 'session' &&
    pooler.get('pgbouncer.max_prepared_statements') === '0'
  if (forgetsStatements && required.prepares) reasons.push(reason('PGBOUNCER_FORGETS_STATEMENTS'))
  if (reasons.length > 0) throw new DatabaseRefusedError(reasons)
}

/**
 * Checks that a database can store every Unicode text.
 *
 * @param encoding the `server_encoding` of the database
 * @throws DatabaseRefusedError
 */
export function requireUnicode(encoding: string | undefined): void {
  if (encoding !== 'UTF8') throw new DatabaseRefusedError(reason('DATABASE_NOT_UTF8', { encoding: String(encoding) }))
}
