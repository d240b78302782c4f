/**
 * Codes of a database that cannot be reached or has no room now: of Node's sockets, of the driver and of ours
 * (`socket.ts`), and of Postgres: classes 08, 28 and 57P, 3D000 no such database, 53300 too many connections,
 * 57014 statement timeout, 25006 a standby, and 0A000 and 26000 a prepared statement that is no longer valid.
 */
const outage =
  /^(ECONNREFUSED|ECONNRESET|ENOENT|ENOTFOUND|EAI_AGAIN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT|CONNECTION_CLOSED|CONNECTION_ENDED|CONNECTION_DESTROYED|08\w{3}|28\w{3}|57P\d\d|3D000|57014|53300|25006|0A000|26000)$/

/**
 * Decides whether a failed statement means that the database is out of reach, so that a caller may try again.
 *
 * @param error what a statement threw
 */
export function isOutage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && outage.test(error.code)
}
