/** The possible targets of a copy: a directory, a SQLite file, or a PostgreSQL database. */
import { resolve } from 'node:path'
import type { OpenStore, ReadCopy } from './store.ts'
import { readDatabaseUrl } from './stores/database-url.ts'

/** A target for a copy. */
interface Target {
  /** The target as messages show it, without a password. */
  name: string
  open: OpenStore
  read: ReadCopy
}

/**
 * Reads what `--to` names.
 *
 * @param schema the schema of a copy in a PostgreSQL database
 * @returns the target; null when the text is not a valid target
 * @throws DatabaseUrlError when the text is a URL of PostgreSQL that cannot be used
 */
export function readTarget(text: string, schema: string): Target | null {
  if (/^postgres(ql)?:/.test(text)) {
    const { host, port, database } = readDatabaseUrl(text)
    const ownRuns: string[] = []
    return {
      name: `postgres://${host}:${port}/${database}, schema ${schema}`,
      // Loads the module only when the target needs it, as for the other stores.
      open: async () => (await import('./stores/postgres.ts')).PostgresStore.open(text, schema, ownRuns),
      read: async () => (await import('./stores/postgres.ts')).PostgresStore.read(text, schema),
    }
  }
  if (text.startsWith('sqlite:')) {
    const path = text.slice('sqlite:'.length)
    if (path === '') return null
    return {
      name: text,
      open: async () => (await import('./stores/sqlite.ts')).SqliteStore.open(resolve(path)),
      read: async () => (await import('./stores/sqlite.ts')).SqliteStore.read(resolve(path)),
    }
  }
  if (text.trim() === '' || /^[a-z][a-z+.-]+:\/\//i.test(text)) return null
  return {
    name: text,
    open: async () => (await import('./stores/directory.ts')).DirectoryStore.open(resolve(text)),
    read: async () => (await import('./stores/directory-reader.ts')).DirectoryReader.open(resolve(text)),
  }
}
