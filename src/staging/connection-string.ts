import { userInfo } from 'node:os'
import { readDatabaseUrl } from '#database-url'

/** The parameters of libpq in PostgreSQL 15 and later, without the parameters that need another format. */
const known =
  'application_name options connect_timeout keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout ' +
  'sslrootcert sslcert sslkey sslcrl sslsni ssl_min_protocol_version ssl_max_protocol_version channel_binding gssencmode krbsrvname'

/** The values of `ssl`, and the values of `sslmode` that only other drivers have. */
const modes: Record<string, string> = {
  ...{ 'no-verify': 'require', true: 'verify-full', 1: 'verify-full', false: 'disable', 0: 'disable' },
}

/**
 * Returns a URL, with the variables and the file of passwords of this process, as a connection string for libpq at the
 * gateway's database server, which has neither, and rejects parameters of other drivers.
 *
 * @throws a DatabaseUrlError
 */
export function connectionString(platformUrl: string): string {
  const { host, port, user, password, database, parameter } = readDatabaseUrl(platformUrl)
  const mode = parameter('sslmode') ?? parameter('ssl') ?? (parameter('sslrootcert') ? 'verify-full' : 'prefer')
  const all = {
    ...Object.fromEntries(known.split(' ').map(name => [name, parameter(name)])),
    ...{ host, port, user: user || userInfo().username, password, dbname: database, sslmode: modes[mode] ?? mode },
  }
  return Object.entries(all)
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}='${String(value).replaceAll(/[\\']/g, '\\$&')}'`)
    .join(' ')
}
