import postgres from '#postgres'
import { type ColumnCodec, columnCodecs } from './column-codecs.ts'

/**
 * What a statement's cells arrive as: bigint and numeric as numbers (the tables hold none that a number would
 * bend, R12, R14), timestamptz as R13 text with six fraction digits, date as `YYYY-MM-DD` text.
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

/**
 * Opens a pool. No connection is made until the first statement.
 *
 * The driver is not as it comes: see `patches/README.md`.
 *
 * @param address where the database is
 * @param options `max` connections; `statementTimeoutMs` after which the server ends a statement; `role` under which
 *   statements run, when it is not the one that logs in; `onNotice` is told what the server says beside its answers
 * @returns the pool; end it with `sql.end()`
 */
export function connect(
  address: DatabaseAddress,
  options: { max: number; statementTimeoutMs: number; role?: string; onNotice?: (message: string) => void },
): Pool {
  const settings = {
    max: options.max,
    connect_timeout: 5,
    // A lost server is tried again at once and often: a request that waits is worse than a refused connection.
    backoff: () => 0.05,
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
      bigint: driverType(20, columnCodecs.integer),
      numeric: driverType(1700, columnCodecs.decimal),
      timestamptz: driverType(1184, columnCodecs.instant),
      date: driverType(1082, columnCodecs.date),
    },
  } satisfies postgres.Options<Record<keyof Cells, postgres.PostgresType>>
  if (typeof address !== 'string') return postgres({ ...settings, ...address })
  // As libpq has it, `?host=` names the directory of a Unix socket; the driver would send it to the server.
  const url = new URL(address)
  const socketDirectory = url.searchParams.get('host')
  url.searchParams.delete('host')
  return postgres(url.href, socketDirectory ? { ...settings, host: socketDirectory } : settings)
}
