/** PostgreSQL servers for benchmarks. Each stops at the end of the benchmark, with its pools. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedPostgres, startEmbedded } from '../../packages/embedded/src/embedded.ts'
import { addressUrl, connect } from '../../src/db/connection/connect.ts'
import type { Pool } from '../../src/db/sql.ts'
import { isPackagedInstalled, startPackaged } from '../../test/support/packaged-postgres.ts'
import { atEnd } from './at-end.ts'
import { root } from './packages.ts'
import { type Installation, runCommand } from './processes.ts'

/** A running server. */
export interface DatabaseServer {
  version: string
  /** @returns the address as DATABASE_URL takes it */
  url(database: string): string
  /** @returns the address as variables of libpq, which other clients read */
  environment(database: string): NodeJS.ProcessEnv
  /** @returns a pool of one connection, so that a statement may begin a transaction */
  open(database: string): Pool
  /** Creates an empty database. First drops an existing database with the same name. */
  create(database: string): Promise<void>
  stop(): Promise<unknown>
}

/** Settings of PostgreSQL. */
type Settings = Record<string, string>

/**
 * Starts an embedded server, with the settings that all benchmarks share.
 *
 * @param settings the settings that differ from the shared settings
 * @param options.dataDir a directory to keep; default: a new directory, which is removed when the server stops
 * @param options.durable whether commits wait for the disk; default: true
 */
export async function startEmbeddedServer(
  settings: Settings,
  options: { dataDir?: string; durable?: boolean } = {},
): Promise<DatabaseServer> {
  const temporary = options.dataDir === undefined ? mkdtempSync(join(tmpdir(), 'gateway-bench-')) : null
  // The server may run as another user, which needs to traverse the directory.
  if (temporary !== null) chmodSync(temporary, 0o711)
  const server = await startEmbedded({
    dataDir: temporary ?? options.dataDir!,
    durable: options.durable ?? true,
    settings: {
      max_connections: '150',
      // Background work would disturb some contenders and not others.
      autovacuum: 'off',
      max_wal_size: '8GB',
      checkpoint_timeout: '1h',
      ...settings,
    },
  })
  return serve(server, () => {
    if (temporary !== null) rmSync(temporary, { recursive: true, force: true })
  })
}

/**
 * Starts a server of the system's packages with PostgreSQL's defaults.
 *
 * @param settings the settings that differ from the defaults
 */
export const startPackagedServer = async (settings: Settings = {}): Promise<DatabaseServer> =>
  serve(await startPackaged(settings))

async function serve(server: EmbeddedPostgres, remove = () => {}): Promise<DatabaseServer> {
  const { host, port, user } = server
  const pools: Pool[] = []
  const open = (database: string) => {
    const options = { max: 1, statementTimeoutMs: 0, searchPath: 'public' }
    const pool = connect({ host, port, user, database }, options)
    pools.push(pool)
    return pool
  }
  const admin = open(server.database)
  const [row] = await admin<{ server_version: string }[]>`show server_version`
  return {
    version: row?.server_version ?? 'unknown',
    url: database => addressUrl({ host, port, user, database }),
    environment: database => ({ PGHOST: host, PGPORT: String(port), PGUSER: user, PGDATABASE: database }),
    open,
    async create(database) {
      await admin`drop database if exists ${admin(database)} with (force)`
      await admin`create database ${admin(database)}`
    },
    stop: atEnd(async () => {
      await Promise.all(pools.map(pool => pool.end({ timeout: 1 })))
      await server.stop()
      remove()
    }),
  }
}

/**
 * Measures on an embedded server, and then on a packaged server if it is installed.
 *
 * @param embedded the settings of the embedded server
 * @param packaged the settings of the packaged server that differ from its defaults
 * @returns the reports of both measurements
 */
export async function measureOnServers(
  embedded: Settings,
  packaged: Settings,
  measure: (server: DatabaseServer) => Promise<string>,
): Promise<string> {
  const texts: string[] = []
  for (const isPackaged of isPackagedInstalled ? [false, true] : [false]) {
    const server = await (isPackaged ? startPackagedServer(packaged) : startEmbeddedServer(embedded))
    texts.push(await measure(server))
    await server.stop()
  }
  return texts.join('\n\n')
}

/** Creates a database, and migrates it with the version of the service in `checkout`. */
export async function createMigrated(
  server: DatabaseServer,
  database: string,
  checkout: string = root,
): Promise<Installation> {
  await server.create(database)
  const installation = { checkout, databaseUrl: server.url(database) }
  await runCommand(installation, 'migrate')
  return installation
}
