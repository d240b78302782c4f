/** The connection to the PostgreSQL database that holds a copy. */
import { connect as connectSocket } from 'node:net'
import postgres from '#postgres'
import { readDatabaseUrl } from './database-url.ts'

/** One connection, which the driver opens again after a loss. The driver returns values of type `bigint` as numbers. */
export type Connection = postgres.Sql<{ bigint: number }>

/** The database of a copy, and whether two statements run in the same session. */
interface CopyDatabase {
  sql: Connection
  /**
   * True behind a pooler. A pooler may run each statement in another session, so session settings and session locks
   * cannot be used.
   */
  pooled: boolean
}

/**
 * Connects. Sends no settings that a pooler would refuse. Detects a pooler by its process id, which differs from the
 * process id of the server.
 *
 * @param address a `postgres://` URL
 * @returns the connection; close it with `end()`
 */
export async function connect(address: string): Promise<CopyDatabase> {
  const probe = openConnection(address, { prepare: false })
  try {
    const rows = await probe<{ pid: number }[]>`select /* copy.session */ pg_backend_pid() as pid`
    if (rows.state.pid !== rows[0]?.pid) return { sql: probe, pooled: true }
  } catch (error) {
    await probe.end({ timeout: 1 })
    throw error
  }
  await probe.end({ timeout: 1 })
  // The search path excludes the schema `public`, in which other users could create functions and operators.
  const connection = {
    statement_timeout: 0,
    default_transaction_isolation: 'read committed',
    search_path: 'pg_catalog, pg_temp',
  } as const
  return { sql: openConnection(address, { connection }), pooled: false }
}

/** Creates a connection that opens when the first statement runs. */
function openConnection(
  address: string,
  options: { prepare?: false; connection?: Partial<postgres.ConnectionParameters> },
): Connection {
  const { tls, connection, prepare, ...place } = readDatabaseUrl(address)
  return postgres({
    ...place,
    prepare: options.prepare ?? prepare,
    max: 1,
    // The session holds the lock of the copy, so the driver must not close it.
    max_lifetime: null,
    connect_timeout: 4,
    // Like libpq, the driver ignores `sslmode` for a Unix socket.
    ssl: tls.mode === 'disable' || place.path !== undefined ? false : tls.mode === 'prefer' ? 'prefer' : tls.options,
    // No pipelining. The type definitions of the driver lack both options.
    ...{ max_pipeline: 0, socket: () => openSocket(place) },
    onnotice: () => {},
    fetch_types: false,
    connection: { application_name: 'voucher-gateway sync', ...connection, ...options.connection },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  })
}

/**
 * Opens a socket that reports an error when the server closes it. Without this error, the driver would repeat a failed
 * start endlessly.
 */
async function openSocket({ host, port, path }: { host: string; port: number; path?: string }) {
  const socket = path === undefined ? connectSocket(port, host) : connectSocket(path)
  socket.on('end', () => socket.destroy(new Error('The database has closed the connection.')))
  // The driver compares the name in the certificate with this host name.
  return Object.assign(socket, { host })
}
