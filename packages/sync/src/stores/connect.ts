/** The connection to the PostgreSQL database that holds a copy. */
import { connect as connectSocket } from 'node:net'
import postgres from '#postgres'
import { readDatabaseUrl } from './database-url.ts'

/** One connection, which the driver opens again when it is lost. The driver returns counts and ids as numbers. */
export type Connection = postgres.Sql<{ bigint: number }>

/** A copy's database, and whether sessions last between statements. */
interface CopyDatabase {
  sql: Connection
  /** True behind a pooler, which may run each statement in another session: nothing may be set or held in a session. */
  pooled: boolean
}

/**
 * Connects. A pooler is asked for nothing that it refuses, and is known by its process id, which is not the server's.
 *
 * @param address a `postgres://` URL
 * @returns the connection; close it with `end()`
 */
export async function connect(address: string): Promise<CopyDatabase> {
  const probe = open(address, { prepare: false })
  try {
    const rows = await probe<{ pid: number }[]>`select /* copy.session */ pg_backend_pid() as pid`
    if (rows.state.pid !== rows[0]?.pid) return { sql: probe, pooled: true }
  } catch (error) {
    await probe.end({ timeout: 1 })
    throw error
  }
  await probe.end({ timeout: 1 })
  // The path leads to no function or operator that others may create in the schema `public` of this database.
  const connection = {
    statement_timeout: 0,
    default_transaction_isolation: 'read committed',
    search_path: 'pg_catalog, pg_temp',
  } as const
  return { sql: open(address, { connection }), pooled: false }
}

/** Makes a connection that opens when its first statement runs. */
function open(
  address: string,
  options: { prepare?: false; connection?: Partial<postgres.ConnectionParameters> },
): Connection {
  const { tls, connection, prepare, ...place } = readDatabaseUrl(address)
  return postgres({
    ...place,
    prepare: options.prepare ?? prepare,
    max: 1,
    // The session holds the lock of the copy.
    max_lifetime: null,
    connect_timeout: 4,
    // Ignored for a Unix socket, as libpq does.
    ssl: tls.mode === 'disable' || place.path !== undefined ? false : tls.mode === 'prefer' ? 'prefer' : tls.options,
    // No pipelining. The driver's types lack both options.
    ...{ max_pipeline: 0, socket: () => openSocket(place) },
    onnotice: () => {},
    fetch_types: false,
    connection: { application_name: 'voucher-gateway sync', ...connection, ...options.connection },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  })
}

/** Opens a socket that fails when the server closes it: otherwise the driver would repeat a failed start endlessly. */
async function openSocket({ host, port, path }: { host: string; port: number; path?: string }) {
  const socket = path === undefined ? connectSocket(port, host) : connectSocket(path)
  socket.on('end', () => socket.destroy(new Error('The database has closed the connection.')))
  // The driver checks the certificate against this name.
  return Object.assign(socket, { host })
}
