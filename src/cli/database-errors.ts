/** Errors of a database that cannot be used; each names the variable to change, or the directory to delete. */
import { readDatabaseUrl } from '#database-url'
import type { Config } from '../config/config.ts'
import { shellCommand } from './shell-command.ts'

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '')

/** Node's error has no message when every address of a host name refuses the connection. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ')
  // The driver's message names neither the host nor the port of our sockets.
  if (codeOf(error) === 'CONNECT_TIMEOUT') return 'the server does not answer'
  return error instanceof Error ? error.message || codeOf(error) : String(error)
}

/** Returns the remedy for an error code of Node, of the driver or of PostgreSQL (appendix A of its manual). */
function remedyFor(code: string): string {
  if (code.startsWith('28')) return 'Correct the user name and the password in DATABASE_URL'
  if (code === '08P01')
    return (
      'A pooler that takes no start-up parameters needs DATABASE_STARTUP_PARAMETERS=off and the configuration in ' +
      'docs/scaling.md. Otherwise correct DATABASE_URL'
    )
  if (code === '3D000') return 'Create that database, or correct its name in DATABASE_URL'
  return 'Start that server, or correct DATABASE_URL'
}

/**
 * Makes the error of a database that cannot be used, with the remedy.
 *
 * @param databaseUrl the value of `DATABASE_URL`; the message does not contain its password
 */
export function databaseError(databaseUrl: string, error: unknown): Error {
  const { host, port, path, database, user } = readDatabaseUrl(databaseUrl)
  const target = `server ${path === undefined ? `${host}:${port}` : host}, database ${database || '-'}, user ${user || '-'}`
  return new Error(
    `The database that DATABASE_URL names (${target}) cannot be used: ${reasonOf(error)}. ` +
      `${remedyFor(codeOf(error))}, for example postgres://user:password@host:5432/database.`,
    { cause: error },
  )
}

/**
 * Makes the error of a database that an unreleased version made. It names the data directory to delete, or asks for
 * another database.
 *
 * @param error the difference between its migrations and those in `sql/`
 */
export function unreleasedDatabaseError({ databaseUrl, dataDir }: Config, error: Error): Error {
  const [location, remedy] =
    databaseUrl === undefined
      ? [`in the data directory ${dataDir}`, 'Delete that directory, with all data in it, and run this command again']
      : [
          'that DATABASE_URL names',
          `Create an empty one, name it in DATABASE_URL, and run: ${shellCommand('migrate')}. Then let the ` +
            `platform fill it, or load demo data with: ${shellCommand('demo')}`,
        ]
  return new Error(
    `The database ${location} was made by an unreleased version of this service and cannot be upgraded. ${remedy}.`,
    { cause: error },
  )
}

/**
 * Makes the error of a data directory that cannot be used, with the remedy.
 *
 * @param error the error of the embedded server's start
 * @returns an error that names `DATA_DIR` for an error of the file system; otherwise the error itself
 */
export function dataDirectoryError(dataDir: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error
  return new Error(
    `The data directory DATA_DIR=${dataDir} cannot be used: ${error.message}. Set DATA_DIR to a directory that this ` +
      'user can write to, or DATABASE_URL to your own PostgreSQL server.',
    { cause: error },
  )
}
