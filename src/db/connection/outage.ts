/**
 * The error codes of a database that cannot be reached or used, or is full: of Node's sockets, of the driver, of
 * `socket.ts`, `statement-queue.ts` and `session.ts`, and of Postgres: the classes 08 connection, 28 authorization, 53
 * resources, 57 operator intervention (57014 is the statement timeout) and 58 system error; 3D000 no such database,
 * 25006 a standby, 25P03 and 25P04 a transaction that was idle or took too long, 40001 and 40P01 a lost conflict, 55P03
 * a lock, and 0A000 and 26000 a prepared statement that is no longer valid.
 */
const outageCodes = [
  /E(CONNREFUSED|CONNRESET|PIPE|TIMEDOUT|HOSTUNREACH|HOSTDOWN|NETUNREACH|NETDOWN|NOTFOUND|AI_AGAIN)/,
  /ENOENT|EMFILE|ENFILE|CONNECT_TIMEOUT|CONNECTION_(CLOSED|ENDED|DESTROYED)|STATEMENT_NOT_SENT|DATABASE_REFUSED/,
  /(08|28|53|57|58)\w{3}|3D000|25006|25P0[34]|40001|40P01|55P03|0A000|26000/,
]

const outage = new RegExp(`^(${outageCodes.map(({ source }) => source).join('|')})$`)

/** Returns true when a statement failed because the database cannot be reached or used, so that a retry can succeed. */
export const isOutage = (error: unknown): boolean => outage.test(codeOf(error))

/** Returns the code of an error of Node, of the driver or of PostgreSQL, without its message, which may name hosts and logins. */
export const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : 'no code'
