import { readDatabaseUrl } from '#database-url'
import postgres from '#postgres'
import { type ColumnCodec, columnCodecs } from '../row/column-codecs.ts'
import type { DriverPool, DriverTypes, Pool } from '../sql.ts'
import { publishUnqueued, queueStatements } from '../statement/queued-pool.ts'
import { figureSettings, isolation, ownSearchPath, type SessionRequirements, timeFormat } from './session.ts'
import { poolSockets } from './socket.ts'

/** The address of the database: a URL, or the Unix socket of an embedded server. */
export type DatabaseAddress = string | { host: string; port: number; user: string; database: string }

/** Returns an address as a URL, in the form in which another process can use it. */
export function addressUrl(address: DatabaseAddress): string {
  if (typeof address === 'string') return address
  const { host, port, user, database } = address
  return `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
}

/** The database role of the service (`sql/0001`). The role has no right to change the audit. */
export const serviceRole = 'voucher_gateway'

/** A type of PostgreSQL that the driver decodes with the codec of a column. */
const driverType = <Value>(oid: number, { decode }: ColumnCodec<Value>) => ({
  to: oid,
  from: [oid],
  serialize: (value: Value) => String(value),
  parse(text: string): Value {
    const bytes = Buffer.from(text, 'latin1')
    return decode(bytes, 0, bytes.length)
  },
})

/**
 * By default, a session has the role of the login and `ownSearchPath`, and sends its settings when it starts. Each new
 * connection is checked. With a role, the session must have the role and the limits, and its server must be a writable
 * primary, unless the pool `readsOnly`.
 */
export interface PoolOptions extends Partial<Omit<SessionRequirements, 'prepares'>> {
  max: number
  /** The name of the pool, under which its statements are published; default: `requests`. */
  name?: string
  /** The time after which the server cancels a statement, in milliseconds; 0 for never. */
  statementTimeoutMs: number
  /**
   * The time limit for the whole answer to a statement, in milliseconds, longer than the server's own limit. At the
   * limit, the statement fails, and a new connection replaces its connection. Default: no limit.
   */
  answerTimeoutMs?: number
  /**
   * The maximum wait of a statement for a connection, in milliseconds; then the statement fails. Default: no limit and
   * no queue.
   */
  waitTimeoutMs?: number
  /**
   * The time after which the server cancels a statement of `steps`, `background` or `exports`, in milliseconds. With
   * this option, each of the three has separate connections; by default, all three share the connections of the pool.
   */
  backgroundTimeoutMs?: number
  /** The time limit for the opening of a connection, in milliseconds; default: 4,000. */
  connectTimeoutMs?: number
  /**
   * Called when a connection has closed. With this option, connections stay open as long as the pool, because sessions
   * may hold locks; otherwise the driver replaces a connection after half an hour or more.
   */
  onClose?: () => void
  /** True for connections that accept replication commands, which are sent as simple queries. */
  replication?: boolean
  /** Receives the notices and warnings of the server. */
  onNotice?: (message: string) => void
}

/**
 * The lifetime of a connection whose session can change behind a pooler, in seconds. Then a new connection, which is
 * checked again, replaces it.
 */
const pooledLifetime = 60

/** The maximum wait of a statement on a standby for a lock of the replay, in milliseconds; then the primary answers. */
const standbyLockTimeoutMs = 200

/** The time limit for the opening of a connection, in milliseconds: less than `answerTimeoutMs` of the service. */
const connectTimeoutMs = 4_000

/** The maximum number of connections of each separate pool. A pool opens a connection when a statement needs one. */
const separateConnections = { steps: 1, background: 1, exports: 2 }

/**
 * Returns the maximum number of connections for expensive requests: at least two, so that one caller cannot use them
 * all.
 */
const expensiveConnections = (max: number) => Math.max(2, Math.ceil(max * 0.3))

/** The time between `backgroundTimeoutMs` and the time limit of the answer, in milliseconds. */
const backgroundAllowanceMs = 500

/**
 * Opens a pool, which connects when the first statement runs. A connection runs one statement at a time. When no
 * connection is free, statements wait in the order of their arrival, or in the order of the queue
 * (`statement-queue.ts`).
 *
 * @returns the pool; close it with `sql.end()`
 */
export function connect(address: DatabaseAddress, options: PoolOptions): Pool {
  const { max, name = 'requests', waitTimeoutMs: maxWaitMs, backgroundTimeoutMs } = options
  const driver = openDriver(address, options)
  const own: DriverPool[] = []
  const openOwn = (changes: Partial<PoolOptions>) => {
    const opened = openDriver(address, { ...options, ...changes })
    own.push(opened)
    return opened
  }
  const nameOf = (own: string) => (name === 'requests' ? own : `${name}_${own}`)
  const openSeparate = (name: keyof typeof separateConnections) => {
    if (backgroundTimeoutMs === undefined) return driver
    const connections = separateConnections[name]
    const answerTimeoutMs = backgroundTimeoutMs + backgroundAllowanceMs
    const opened = openOwn({ max: connections, statementTimeoutMs: backgroundTimeoutMs, answerTimeoutMs })
    return publishUnqueued(opened, { name: nameOf(name), connections, busy: 0 })
  }
  const queueFor = (queued: DriverPool, name: string, connections: number) => {
    const use = { name, connections, busy: 0 }
    if (maxWaitMs !== undefined) return queueStatements(queued, use, maxWaitMs)
    const published = publishUnqueued(queued, use)
    return () => published
  }

  const expensiveMax = expensiveConnections(max)
  const whileWanted = queueFor(driver, name, max)
  const pool = Object.assign(
    whileWanted(() => true),
    {
      whileWanted,
      expensive: queueFor(
        maxWaitMs === undefined ? driver : openOwn({ max: expensiveMax }),
        nameOf('expensive'),
        expensiveMax,
      ),
      steps: openSeparate('steps'),
      background: openSeparate('background'),
      exports: openSeparate('exports'),
      openSession(limits?: { answerTimeoutMs?: number }) {
        const onClose = () => void session.end({ timeout: 0 })
        const session = openDriver(address, { ...options, ...limits, max: 1, onClose })
        return session
      },
    },
  )
  const { end } = driver
  driver.end = async timeout => {
    await Promise.all([end(timeout), ...own.map(opened => opened.end(timeout))])
  }
  return pool
}

function openDriver(address: DatabaseAddress, options: PoolOptions): DriverPool {
  // libpq's variables apply only to a database that the operator names.
  const environment = typeof address === 'string' ? process.env : {}
  const { tls, connection, ...place } = readDatabaseUrl(addressUrl(address), environment)
  const {
    role,
    statementTimeoutMs,
    startupParameters = true,
    readsOnly = false,
    searchPath = ownSearchPath,
    settings: own = {},
  } = options
  const session: SessionRequirements = {
    ...{ searchPath, role, statementTimeoutMs, startupParameters, readsOnly },
    prepares: place.prepare,
    settings: options.replication ? {} : own,
  }
  // The value is a text, because the driver does not send the number 0.
  const limits: Record<string, string | number> = { statement_timeout: String(statementTimeoutMs) }
  const { close: closeSockets, ...sockets } = poolSockets({
    place,
    tls,
    answerTimeoutMs: options.answerTimeoutMs,
    session,
  })
  const settings = {
    max: options.max,
    connect_timeout: (options.connectTimeoutMs ?? connectTimeoutMs) / 1000,
    // No pipelining, so that no statement waits behind a blocked statement (the driver's types lack the option).
    ...{ max_pipeline: 0 },
    ssl: false,
    ...sockets,
    onnotice: notice => options.onNotice?.(notice.message ?? ''),
    // Arrays are sent as text or JSON (`arrayText`), so the driver need not ask each connection for its types.
    fetch_types: false,
    connection: {
      // PgBouncer accepts these settings from any client, and keeps them for the client.
      application_name: readsOnly ? 'voucher-gateway-records' : 'voucher-gateway',
      ...connection,
      ...timeFormat,
      ...(options.replication && { replication: 'database' }),
      ...(startupParameters && {
        search_path: searchPath,
        ...limits,
        default_transaction_isolation: isolation,
        ...(readsOnly && { lock_timeout: standbyLockTimeoutMs }),
        ...(role !== undefined && { role, ...figureSettings }),
        ...own,
      }),
    },
    ...(!startupParameters && { max_lifetime: pooledLifetime }),
    ...(options.onClose && { onclose: options.onClose, max_lifetime: null }),
    types: {
      bigint: driverType(20, columnCodecs.bigint),
      numeric: driverType(1700, columnCodecs.decimal),
      timestamptz: driverType(1184, columnCodecs.instant),
      date: driverType(1082, columnCodecs.date),
    },
  } satisfies postgres.Options<Record<keyof DriverTypes, postgres.PostgresType>>
  const driver = postgres({ ...settings, ...place })
  const end = driver.end
  driver.end = async options => {
    await end(options)
    // When the server does not close its side, the driver stops waiting but leaves the connection open.
    closeSockets()
  }
  return driver
}
