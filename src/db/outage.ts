/**
 * Codes of errors that say the database is out of reach or has no room just now: those of Node's sockets, those of
 * the driver, and those of Postgres (classes 08, 28 and 57P, 3D000 no such database, 53300 too many connections,
 * 57014 statement timeout, 25006 a standby), or that a prepared statement has to be prepared again (0A000 a table was
 * changed, 26000 it is not known).
 */
const outage =
  /^(ECONNREFUSED|ECONNRESET|ENOENT|ENOTFOUND|EAI_AGAIN|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|CONNECT_TIMEOUT|CONNECTION_CLOSED|CONNECTION_ENDED|CONNECTION_DESTROYED|08\w{3}|28\w{3}|57P\d\d|3D000|57014|53300|25006|0A000|26000)$/

/** @returns whether what a statement threw says that the database is out of reach */
export function isOutage(error: unknown): boolean {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && outage.test(error.code)
}
