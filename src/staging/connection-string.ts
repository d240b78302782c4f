import { userInfo } from 'node:os'
import { readDatabaseUrl } from '#database-url'

/** Parameters that libpq has known since PostgreSQL 15, without the parameters that have another format here. */
const known =
  'application_name options connect_timeout keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout ' +
  'sslrootcert sslcert sslkey sslcrl sslsni ssl_min_protocol_version ssl_max_protocol_version channel_binding gssencmode krbsrvname'

/** The values of `sslmode` that only other drivers have, and of `ssl`. */
const modes: Record<string, string> = {
  ...{ 'no-verify': 'require', true: 'verify-full', 1: 'verify-full', false: 'disable', 0: 'disable' },
}

/**
 * Writes a URL, with the variables and the file of passwords of this process, for the libpq of the gateway's database server,
 * which has neither and rejects parameters of other drivers.
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
