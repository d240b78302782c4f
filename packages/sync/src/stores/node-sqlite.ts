/** Loads `node:sqlite`. The type definitions of Node 20 do not have `node:sqlite`. */
import { exitCodes, SyncError } from '../errors.ts'

type Parameter = string | number | null

/** The methods of `StatementSync`, a prepared statement, that the sync uses. */
export interface SqliteStatement {
  run(...parameters: Parameter[]): unknown
  all(...parameters: Parameter[]): unknown[]
}

/** The methods of `DatabaseSync`, an open database, that the sync uses. */
export interface SqliteDatabase {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  close(): void
}

interface SqliteModule {
  DatabaseSync: new (path: string, options: { readOnly?: boolean }) => SqliteDatabase
}

const isSqlite = (module: unknown): module is SqliteModule =>
  typeof module === 'object' && module !== null && 'DatabaseSync' in module

/**
 * Opens a SQLite database in a file.
 *
 * @param options.readOnly true when the file must exist and is only read; otherwise a missing file is created
 * @throws SyncError when this version of Node has no `node:sqlite`
 */
export async function openSqlite(path: string, options: { readOnly?: boolean } = {}): Promise<SqliteDatabase> {
  const module = await loadSqlite()
  if (isSqlite(module)) return new module.DatabaseSync(path, options)
  throw new SyncError(
    exitCodes.usage,
    `This Node (${process.version}) has no SQLite: a copy in sqlite:FILE needs Node 22.13 or later. ` +
      'Install it (https://nodejs.org), or keep the copy in a directory (--to copy) or in PostgreSQL ' +
      '(--to postgres://user@host/database).',
  )
}

async function loadSqlite(): Promise<unknown> {
  const name: string = 'node:sqlite'
  const { emitWarning } = process
  // Hides the warning of Node 22 and 24 that SQLite is experimental, because the user cannot change that.
  process.emitWarning = () => {}
  try {
    return await import(name)
  } catch {
    return null
  } finally {
    process.emitWarning = emitWarning
  }
}
