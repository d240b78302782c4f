import { createHash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { connect, type Pool } from '../../src/db/connect.ts'
import { type EmbeddedPostgres, startEmbedded } from '../../src/db/embedded.ts'
import { clusterOf } from '../../src/db/embedded-paths.ts'
import { migrate } from '../../src/db/migrate.ts'
import { seed, seedVersion, sizes } from './seed.ts'

/** Where the benchmarks keep their databases between runs. */
export const dataHome = fileURLToPath(new URL('../.data/', import.meta.url))

const migrations = fileURLToPath(new URL('../../sql/', import.meta.url))

/** A seeded database, with a server of its own. */
export interface SeededDatabase {
  sql: Pool
  address: { host: string; port: number; user: string; database: string }
  /** The same as the service takes it in DATABASE_URL. */
  url: string
  /** A bearer token that may do all at all tenants. */
  secret: string
  version: string
  close(): Promise<void>
}

/** What a kept database was made of, so that it is known when it no longer fits. */
interface Note {
  made: string
  secret: string
}

/** @returns what a database would be made of now */
function recipe(size: keyof typeof sizes): string {
  const hash = createHash('sha256').update(JSON.stringify([seedVersion, sizes[size]]))
  for (const file of readdirSync(migrations).sort()) hash.update(file).update(readFileSync(join(migrations, file)))
  return hash.digest('hex')
}

const readNote = (file: string): Note | null => {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return null
  }
}

/**
 * Starts the server of the kept database; makes the database when there is none, or when the migrations or the seed
 * have changed since.
 */
export async function openSeeded(size: keyof typeof sizes, say: (progress: string) => void): Promise<SeededDatabase> {
  mkdirSync(dataHome, { recursive: true, mode: 0o711 })
  const dataDir = join(dataHome, size)
  const noteFile = join(dataHome, `${size}.json`)
  const made = recipe(size)
  let note = readNote(noteFile)
  if (note?.made !== made) {
    note = null
    rmSync(noteFile, { force: true })
    removeCluster(dataDir)
  }
  const server = await start(dataDir)
  try {
    const { host, port, user } = server
    const address = { host, port, user, database: 'bench' }
    if (!note) {
      const started = performance.now()
      const secret = await make(server, size, say)
      note = { made, secret }
      writeFileSync(noteFile, JSON.stringify(note), { mode: 0o600 })
      say(`made in ${((performance.now() - started) / 1000).toFixed(0)} s`)
    }
    const sql = connect(address, { max: 1, statementTimeoutMs: 0 })
    const [row] = await sql<{ server_version: string }[]>`show server_version`
    return {
      sql,
      address,
      url: `postgres://${user}@localhost:${port}/${address.database}?host=${encodeURIComponent(host)}`,
      secret: note.secret,
      version: row?.server_version ?? 'unknown',
      async close() {
        await sql.end({ timeout: 1 })
        await server.stop()
      },
    }
  } catch (error) {
    await server.stop()
    throw error
  }
}

const start = (dataDir: string): Promise<EmbeddedPostgres> =>
  startEmbedded({
    dataDir,
    settings: {
      max_connections: '150',
      shared_buffers: '1GB',
      max_wal_size: '8GB',
      // Nothing of the server's own shall fall on one contender and not on another.
      autovacuum: 'off',
      checkpoint_timeout: '1h',
    },
  })

async function make(server: EmbeddedPostgres, size: keyof typeof sizes, say: (text: string) => void): Promise<string> {
  const { host, port, user, database } = server
  const admin = connect({ host, port, user, database }, { max: 1, statementTimeoutMs: 0 })
  await admin.unsafe('drop database if exists bench with (force)')
  await admin.unsafe('create database bench')
  await admin.end()
  const sql = connect({ host, port, user, database: 'bench' }, { max: 1, statementTimeoutMs: 0 })
  await migrate(sql)
  const secret = await seed(sql, sizes[size], say)
  await sql.end()
  return secret
}

/** Removes a data directory, and the cluster too where it had to be placed elsewhere. */
function removeCluster(dataDir: string): void {
  try {
    rmSync(clusterOf(dataDir), { recursive: true, force: true })
  } catch {
    // There is no such directory yet.
  }
  rmSync(dataDir, { recursive: true, force: true })
}
