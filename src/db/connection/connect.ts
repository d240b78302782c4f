import { readDatabaseUrl } from '#database-url'
import postgres from '#postgres'
import { type ColumnCodec, columnCodecs } from '../row/column-codecs.ts'
import type { DriverPool, DriverTypes, Pool } from '../sql.ts'
import { publishUnqueued, queueStatements } from '../statement/queued-pool.ts'
import { figureSettings, isolation, ownSearchPath, type SessionRequirements, timeFormat } from './session.ts'
import { poolSockets } from './socket.ts'

/** The address of the database: a URL, or the Unix socket of an embedded server. */
export type DatabaseAddress = string | { host: string; port: number; user: string; database: string }

/** Returns an address as a URL, which another process can use. */
export function addressUrl(address: DatabaseAddress): string {
  if (typeof address === 'string') return address
  const { host, port, user, database } = address
  return `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`
}

/** The role under which the service works (`sql/0001`): it cannot change the audit. */
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
 * By default, sessions have the role of the login and `ownSearchPath`, and send their parameters as they start. Each
 * new connection is checked: with a role it must have the role and the limits, and lead to a primary that can be
 * written, unless it `readsOnly`.
 */
export interface PoolOptions extends Partial<Omit<SessionRequirements, 'prepares'>> {
  max: number
  /** The name under which its statements are published; default: `requests`. */
  name?: string
  /** The time after which the server ends a statement, in milliseconds; 0 for never. */
  statementTimeoutMs: number
  /**
   * A statement fails when the server has not answered it whole after this long, and its connection is replaced;
   * in milliseconds, longer than the server's own limit; default: never.
   */
  answerTimeoutMs?: number
  /** A statement fails after it has waited this long for a connection, in milliseconds; default: never, without a queue. */
  waitTimeoutMs?: number
  /**
   * The time after which the server ends a statement of `steps`, of `background` and of `exports`, in milliseconds.
   * With this option, each of the three has its own connections; default: they share the connections of the pool.
   */
  backgroundTimeoutMs?: number
  /** A connection that takes longer to open fails, in milliseconds; default: four seconds. */
  connectTimeoutMs?: number
  /**
   * Called when a connection has closed. With it a connection stays open as long as the pool, because its session may
   * hold locks; without it, for half an hour or more.
   */
  onClose?: () => void
  /** True for connections that take the commands of replication, as simple statements. */
  replication?: boolean
  /** Receives the notices and warnings of the server. */
  onNotice?: (message: string) => void
}

/**
 * The lifetime of a connection whose session can change behind a pooler, in seconds. A new connection is checked again.
 */
const pooledLifetime = 60

/** A statement on a standby waits this long for a lock that the replay holds, in milliseconds: then the primary answers. */
const standbyLockTimeoutMs = 200

/** A connection that takes longer to open fails, in milliseconds: less than `answerTimeoutMs` of the service. */
const connectTimeoutMs = 4_000

/** The maximum number of connections of each separate pool. A connection opens when it is needed. */
const ownConnections = { steps: 1, background: 1, exports: 2 }

/** The connections for expensive requests: at least two, so that one caller leaves one to others. */
const expensiveConnections = (max: number) => Math.max(2, Math.ceil(max * 0.3))

/** The time that an answer may take beyond `backgroundTimeoutMs`, in milliseconds. */
const backgroundAllowanceMs = 500

/**
 * Opens a pool, which connects when the first statement runs. A connection runs one statement at a time; statements
 * that find none free wait in the order in which they came, or as the queue decides (`statement-queue.ts`).
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
  const openSeparate = (name: keyof typeof ownConnections) => {
    if (backgroundTimeoutMs === undefined) return driver
    const connections = ownConnections[name]
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
    // No pipelining (the driver's types lack the option): a statement never waits behind a blocked one.
    ...{ max_pipeline: 0 },
    ssl: false,
    ...sockets,
    onnotice: notice => options.onNotice?.(notice.message ?? ''),
    // Arrays are sent as text or JSON (`arrayText`), so the driver need not ask each connection for its types.
    fetch_types: false,
    connection: {
      // PgBouncer accepts these from any client, and keeps them for it.
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
    // The driver stops waiting for a server that does not close its end, but leaves the connection open.
    closeSockets()
  }
  return driver
}
