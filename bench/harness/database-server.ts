/** A PostgreSQL server for a benchmark. All benchmarks use the same settings. */
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedPostgres, startEmbedded } from '../../packages/embedded/src/embedded.ts'
import { connect } from '../../src/db/connection/connect.ts'
import type { Pool } from '../../src/db/sql.ts'
import { isPackagedInstalled, startPackaged } from '../../test/support/packaged-postgres.ts'
import { type Installation, runCommand } from './processes.ts'

/** The address of a database for a client other than the service. */
export interface DatabaseAddress {
  host: string
  port: number
  user: string
  database: string
}

/** A running server. */
export interface DatabaseServer {
  version: string
  address(database: string): DatabaseAddress
  /** @returns the address as DATABASE_URL takes it */
  url(database: string): string
  /** @returns a pool of one connection, so that a statement may begin a transaction */
  open(database: string): Pool
  /** Creates an empty database, and drops one of that name first. */
  create(database: string): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts the server of a data directory.
 *
 * @param options.durable whether commits wait for the disk; true when absent
 * @param options.sharedBuffers PostgreSQL's `shared_buffers`
 * @param options.settings further settings
 */
export async function startDatabaseServer(options: {
  dataDir: string
  sharedBuffers: string
  durable?: boolean
  settings?: Record<string, string>
}): Promise<DatabaseServer> {
  const server = await startEmbedded({
    dataDir: options.dataDir,
    durable: options.durable ?? true,
    settings: {
      max_connections: '150',
      shared_buffers: options.sharedBuffers,
      // Background work would disturb one contender and not another.
      autovacuum: 'off',
      max_wal_size: '8GB',
      checkpoint_timeout: '1h',
      ...options.settings,
    },
  })
  return serve(server)
}

/**
 * Starts a server of the system's packages with PostgreSQL's defaults, in a directory that is removed when it stops.
 *
 * @param settings the settings that differ from the defaults
 */
export const startPackagedServer = async (settings?: Record<string, string>): Promise<DatabaseServer> =>
  serve(await startPackaged(settings))

async function serve(server: EmbeddedPostgres): Promise<DatabaseServer> {
  const { host, port, user } = server
  const address = (database: string) => ({ host, port, user, database })
  const open = (database: string) => connect(address(database), { max: 1, statementTimeoutMs: 0, searchPath: 'public' })
  const admin = open(server.database)
  const [row] = await admin<{ server_version: string }[]>`show server_version`
  return {
    version: row?.server_version ?? 'unknown',
    address,
    url: database => `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`,
    open,
    async create(database) {
      await admin`drop database if exists ${admin(database)} with (force)`
      await admin`create database ${admin(database)}`
    },
    async stop() {
      await admin.end({ timeout: 1 })
      await server.stop()
    },
  }
}

/** Starts a server with a new data directory, which is removed when the server stops. */
export async function startTemporaryServer(
  options: Omit<Parameters<typeof startDatabaseServer>[0], 'dataDir'>,
): Promise<DatabaseServer> {
  const dataDir = mkdtempSync(join(tmpdir(), 'gateway-bench-'))
  // The server may run as another user, who has to pass through.
  chmodSync(dataDir, 0o711)
  const server = await startDatabaseServer({ ...options, dataDir })
  const stop = () => server.stop().finally(() => rmSync(dataDir, { recursive: true, force: true }))
  return { ...server, stop }
}

/**
 * Measures on an embedded server, and then on a packaged one where it is installed.
 *
 * @param settings the settings of the packaged server that differ from its defaults
 * @returns the texts of both
 */
export async function measureOnServers(
  embedded: Parameters<typeof startTemporaryServer>[0],
  settings: Record<string, string>,
  measure: (server: DatabaseServer) => Promise<string>,
): Promise<string> {
  const texts: string[] = []
  for (const isPackaged of isPackagedInstalled ? [false, true] : [false]) {
    const server = await (isPackaged ? startPackagedServer(settings) : startTemporaryServer(embedded))
    try {
      texts.push(await measure(server))
    } finally {
      await server.stop()
    }
  }
  return texts.join('\n\n')
}

/** Creates a database, and migrates it with the version of the service in `checkout`. */
export async function createMigrated(
  server: DatabaseServer,
  database: string,
  checkout: string,
): Promise<Installation> {
  await server.create(database)
  const installation = { checkout, databaseUrl: server.url(database) }
  await runCommand(installation, 'migrate')
  return installation
}
