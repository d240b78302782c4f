import { userInfo } from 'node:os'
import { readDatabaseUrl } from '#database-url'

/** The names of libpq's parameters (PostgreSQL 15 and later) that are copied from the URL without a conversion. */
const copiedParameters =
  'application_name options connect_timeout keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout ' +
  'sslrootcert sslcert sslkey sslcrl sslsni ssl_min_protocol_version ssl_max_protocol_version channel_binding gssencmode krbsrvname'

/** The `sslmode` of libpq for the values of `ssl`, and for values of `sslmode` that only other drivers know. */
const sslModes: Record<string, string> = {
  ...{ 'no-verify': 'require', true: 'verify-full', 1: 'verify-full', false: 'disable', 0: 'disable' },
}

/**
 * Converts a URL to a connection string for libpq in the gateway's database server. Adds values from the environment
 * and the password file of this process, which the server does not have. Leaves out parameters that only other drivers
 * know, because libpq rejects them.
 *
 * @throws a DatabaseUrlError
 */
export function connectionString(platformUrl: string): string {
  const { host, port, user, password, database, parameter } = readDatabaseUrl(platformUrl)
  const mode = parameter('sslmode') ?? parameter('ssl') ?? (parameter('sslrootcert') ? 'verify-full' : 'prefer')
  const all = {
    ...Object.fromEntries(copiedParameters.split(' ').map(name => [name, parameter(name)])),
    ...{ host, port, user: user || userInfo().username, password, dbname: database, sslmode: sslModes[mode] ?? mode },
  }
  return Object.entries(all)
    .filter(([, value]) => value)
    .map(([name, value]) => `${name}='${String(value).replaceAll(/[\\']/g, '\\$&')}'`)
    .join(' ')
}
