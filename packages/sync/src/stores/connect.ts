/** The connection to the PostgreSQL database that holds a copy. */
import { connect as connectSocket, type Socket } from 'node:net'
import postgres from '#postgres'

/** One connection, which the driver opens again when it is lost. Counts and ids are numbers. */
export type Connection = postgres.Sql<{ bigint: number }>

/** The meaning of `sslmode`; any other value, such as `verify-ca`, also checks the certificate. */
const tlsModes = new Map<string, 'prefer' | 'require' | false>([
  ['disable', false],
  ['false', false],
  ['allow', 'prefer'],
  ['prefer', 'prefer'],
  ['require', 'require'],
])

/**
 * Connects when the first statement runs.
 *
 * @param address a `postgres://` URL; `host` in its query is the directory of a Unix socket, as for libpq
 * @returns the connection; close it with `end()`
 */
export function connect(address: string): Connection {
  const url = new URL(address)
  const take = (name: string) => {
    const value = url.searchParams.get(name)
    url.searchParams.delete(name)
    return value
  }
  const directory = take('host')
  const tls = take('sslmode') ?? take('ssl') ?? 'disable'
  return postgres(url.href, {
    ...(directory !== null && { host: directory }),
    max: 1,
    // The session holds the lock of the copy.
    max_lifetime: null,
    connect_timeout: 4,
    // Ignored for a Unix socket, as libpq does.
    ssl: directory === null ? (tlsModes.get(tls) ?? 'verify-full') : false,
    // No pipelining. The driver's types lack both options.
    ...{ max_pipeline: 0, socket: openSocket },
    onnotice: () => {},
    fetch_types: false,
    connection: {
      application_name: 'voucher-gateway sync',
      statement_timeout: 0,
      default_transaction_isolation: 'read committed',
    },
    types: { bigint: { to: 20, from: [20], serialize: String, parse: Number } },
  })
}

/** The parsed options with which the driver asks for a socket. */
interface SocketTarget {
  host: [string, ...string[]]
  port: [number, ...number[]]
  /** The path of a Unix socket; false for TCP. */
  path: string | false
}

/** Makes the end of the server's data an error: without an error, the driver repeats a failed start for ever. */
async function openSocket({ host: [host], port: [port], path }: SocketTarget): Promise<Socket & { host: string }> {
  const socket = path === false ? connectSocket(port, host) : connectSocket(path)
  socket.on('end', () => socket.destroy(new Error('The database has closed the connection.')))
  // The driver checks the certificate against this name.
  return Object.assign(socket, { host })
}
