/** Errors for a database that cannot be used: they name the variable to change, or the directory to delete. */
import type { Config } from '../config.ts'
import { shellCommand } from './shell-command.ts'

const codeOf = (error: unknown) => (error instanceof Error && 'code' in error ? String(error.code) : '')

/** Node gives an error without a message when each address of a name refuses. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(reasonOf).join(', ')
  return error instanceof Error ? error.message || codeOf(error) : String(error)
}

/** @returns the remedy for an error code of Node, of the driver or of PostgreSQL (appendix A of its manual) */
function remedyFor(code: string): string {
  if (code.startsWith('28')) return 'Correct the user name and the password in DATABASE_URL'
  if (code === '3D000') return 'Create that database, or correct its name in DATABASE_URL'
  return 'Start that server, or correct DATABASE_URL'
}

/**
 * @param databaseUrl what `DATABASE_URL` says; its password is not shown
 * @param error from the first statement
 */
export function unusableDatabase(databaseUrl: string, error: unknown): Error {
  const { hostname, port, pathname, username, searchParams } = new URL(databaseUrl)
  const server = searchParams.get('host') ?? `${hostname || 'localhost'}:${port || 5432}`
  const named = `server ${server}, database ${decodeURIComponent(pathname.slice(1)) || '-'}, user ${decodeURIComponent(username) || '-'}`
  return new Error(
    `The database that DATABASE_URL names (${named}) cannot be used: ${reasonOf(error)}. ` +
      `${remedyFor(codeOf(error))}, for example postgres://user:password@host:5432/database.`,
    { cause: error },
  )
}

/**
 * @param error from the comparison of its migrations with those in `sql/`
 * @returns an error that names the data directory to delete, or that asks for another database
 */
export function unreleasedDatabase({ databaseUrl, dataDir }: Config, error: Error): Error {
  const [place, remedy] =
    databaseUrl === undefined
      ? [`in the data directory ${dataDir}`, 'Delete that directory, with all data in it, and run this command again']
      : [
          'that DATABASE_URL names',
          `Create an empty one, name it in DATABASE_URL, and run: ${shellCommand('migrate')}. It is filled by the ` +
            `platform, or with demo data by: ${shellCommand('demo')}`,
        ]
  return new Error(
    `The database ${place} was made by an unreleased version of this service and cannot be upgraded. ${remedy}.`,
    { cause: error },
  )
}

/**
 * @param error from starting the embedded server
 * @returns an error that names `DATA_DIR` when the file system refused something; else the error itself
 */
export function unusableDataDirectory(dataDir: string, error: unknown): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error
  return new Error(
    `The data directory DATA_DIR=${dataDir} cannot be used: ${error.message}. Set DATA_DIR to a directory that this ` +
      'user can write to, or DATABASE_URL to a PostgreSQL server of your own.',
    { cause: error },
  )
}
