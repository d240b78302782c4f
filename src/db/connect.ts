import postgres from '#postgres'
import { type ColumnCodec, columnCodecs } from './column-codecs.ts'
import { poolSockets, type TlsMode } from './socket.ts'

/**
 * How the driver decodes columns: bigint and numeric as numbers (the tables allow only values that a number holds exactly,
 * R12, R14), timestamptz as R13 text with six fraction digits, date as `YYYY-MM-DD` text.
 */
type Cells = { bigint: number; numeric: number; timestamptz: string; date: string }

/** A pool of connections. */
export type Pool = postgres.Sql<Cells>

/** What a statement is run through: a pool, or a transaction. */
export type Sql = postgres.ISql<Cells>

/** A piece of a statement. */
export type Fragment = postgres.Fragment

/** Where the database is: a URL, or the Unix socket of an embedded server. */
export type DatabaseAddress = string | { host: string; port: number; user: string; database: string }

/** The role under which the service works (`sql/0002`): it cannot change the audit. */
export const serviceRole = 'voucher_gateway'

/**
 * An array as a parameter: Postgres' own text for it, to be cast, as in `any(${arrayText(ids)}::text::bigint[])`.
 *
 * @param values none of them null
 */
export const arrayText = (values: readonly (number | string | boolean)[]): string =>
  `{${values.map(value => (typeof value === 'string' ? `"${value.replaceAll(/["\\]/g, '\\$&')}"` : value)).join(',')}}`

/** A type of PostgreSQL that the driver decodes as rows do. */
const driverType = <Value>(oid: number, { decode }: ColumnCodec<Value>) => ({
  to: oid,
  from: [oid],
  serialize: (value: Value) => String(value),
  parse(text: string): Value {
    const bytes = Buffer.from(text, 'latin1')
    return decode(bytes, 0, bytes.length)
  },
})

/** The limits and the role of a pool. */
export interface PoolOptions {
  /** The most connections. */
  max: number
  /** After this long the server ends a statement, in milliseconds; 0 for never. */
  statementTimeoutMs: number
  /** After this long without a byte from the server a statement fails, in milliseconds; default: never. */
  silenceTimeoutMs?: number
  /** The role under which statements run; default: the login. */
  role?: string
  /** Receives the notices and warnings of the server. */
  onNotice?: (message: string) => void
}

/** What `sslmode` asks for; any other value, such as `verify-full`, also checks the certificate. */
const tlsModes = new Map<string, TlsMode>([
  ['disable', 'disable'],
  ['false', 'disable'],
  ['allow', 'prefer'],
  ['prefer', 'prefer'],
  ['require', 'require'],
])

/**
 * Opens a pool, which connects when the first statement runs. A connection runs one statement at a time; statements
 * that find none free wait in the order in which they came.
 *
 * @returns the pool; close it with `sql.end()`
 */
export function connect(address: DatabaseAddress, options: PoolOptions): Pool {
  const { url, tls, ...place } =
    typeof address === 'string' ? parseUrl(address) : { ...address, url: '', tls: 'disable' as const }
  const settings = {
    max: options.max,
    connect_timeout: 5,
    // No pipelining (the driver's types lack the option): a statement never waits behind one that is blocked.
    ...{ max_pipeline: 0 },
    ssl: false,
    ...poolSockets({ tls, silenceTimeoutMs: options.silenceTimeoutMs }),
    onnotice: notice => options.onNotice?.(notice.message ?? ''),
    // Arrays come and go as text or JSON (`arrayText`), so the driver need not ask each connection for its types.
    fetch_types: false,
    connection: {
      application_name: 'voucher-gateway',
      TimeZone: 'UTC',
      DateStyle: 'ISO, YMD',
      statement_timeout: options.statementTimeoutMs,
      // A page reads the watermark, and then its rows under a snapshot that is taken after that.
      default_transaction_isolation: 'read committed',
      ...(options.role === undefined ? {} : { role: options.role }),
    },
    types: {
      bigint: driverType(20, columnCodecs.bigint),
      numeric: driverType(1700, columnCodecs.decimal),
      timestamptz: driverType(1184, columnCodecs.instant),
      date: driverType(1082, columnCodecs.date),
    },
  } satisfies postgres.Options<Record<keyof Cells, postgres.PostgresType>>
  return postgres(url, { ...settings, ...place })
}

/**
 * Takes out of a URL what the driver would treat otherwise than libpq: `host` in the query is the directory of a Unix
 * socket, and `sslmode` is for the sockets.
 */
function parseUrl(address: string): { url: string; tls: TlsMode; host?: string } {
  const url = new URL(address)
  const take = (name: string) => {
    const value = url.searchParams.get(name)
    url.searchParams.delete(name)
    return value
  }
  const host = take('host')
  const mode = take('sslmode') ?? take('ssl') ?? 'disable'
  return { tls: tlsModes.get(mode) ?? 'verify', ...(host && { host }), url: url.href }
}
