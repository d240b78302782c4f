/** Errors of a database that cannot be used; each names the variable to change, or the directory to delete. */
import { readDatabaseUrl } from '#database-url'
import type { Config } from '../../config/config.ts'
import { codeOf } from '../../db/connection/outage.ts'
import { ReasonError, reason } from '../../reasons.ts'
import { shellCommand } from '../terminal/shell-command.ts'

/** Node's error has no message when every address of a host name refuses the connection. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ')
  // The driver's message names neither the host nor the port of our sockets.
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

/**
 * Makes the error of a database that an unreleased version made. It names the data directory to delete, or asks for
 * another database.
 *
 * @param error the difference between its migrations and the migrations in `sql/`
 */
export function unreleasedDatabaseError({ databaseUrl, dataDir }: Config, error: Error): ReasonError {
  const commands = { migrate: shellCommand('migrate'), demo: shellCommand('demo') }
  const found =
    databaseUrl === undefined
      ? reason('DATA_DIR_UNRELEASED', { directory: dataDir })
      : reason('DATABASE_UNRELEASED', commands)
  return new ReasonError(found, { cause: error })
}

/**
 * Makes the error of a data directory that cannot be used, with the remedy.
 *
 * @param error the error of the embedded server's start
 * @returns an error that names `DATA_DIR` for an error of the file system; otherwise the error itself
 */
export function dataDirectoryError(dataDir: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error
  return new ReasonError(reason('DATA_DIR_UNUSABLE', { directory: dataDir, why: error.message }), { cause: error })
}
