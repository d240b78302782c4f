/** Errors of a database that cannot be used; each names the variable to change, or the directory to delete. */
import { readDatabaseUrl } from '#database-url'
import { codeOf } from '../../db/connection/outage.ts'
import { ReasonError, reason } from '../../reasons.ts'

/** Node's error has no message when every address of a host name refuses the connection. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ')
  // The driver's message does not name the host and the port, because the service opens the sockets itself.
  if (codeOf(error) === 'CONNECT_TIMEOUT') return 'the server does not answer'
  return error instanceof Error ? error.message || codeOf(error) : String(error)
}

/** Returns the reason's code for an error of Node, of the driver or of PostgreSQL (appendix A of its manual). */
function reasonFor(error: unknown) {
  const code = codeOf(error)
  if (code.startsWith('28')) return 'DATABASE_LOGIN_REFUSED'
  if (code === '3D000') return 'DATABASE_NOT_FOUND'
  if (code !== '08P01') return 'DATABASE_UNREACHABLE'
  return /statement pooling/.test(reasonOf(error)) ? 'PGBOUNCER_STATEMENT_MODE' : 'DATABASE_PARAMETERS_REFUSED'
}

/**
 * Makes the error of a database that cannot be used, with the remedy.
 *
 * @param databaseUrl the value of `DATABASE_URL`; the message does not contain its password
 */
export function databaseError(databaseUrl: string, error: unknown): ReasonError {
  const { host, port, path, database, user } = readDatabaseUrl(databaseUrl)
  const target = `server ${path === undefined ? `${host}:${port}` : host}, database ${database || '-'}, user ${user || '-'}`
  return new ReasonError(reason(reasonFor(error), { target, why: reasonOf(error) }), { cause: error })
}
