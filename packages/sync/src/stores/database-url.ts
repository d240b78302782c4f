/**
 * Parses the URL of a PostgreSQL database, with the parameters of libpq and the parameters that hosting services add.
 */
import { readFileSync } from 'node:fs'
import type { ConnectionOptions } from 'node:tls'

/** The encryption of a connection; with `prefer`, the connection is encrypted only when the server supports it. */
export interface Tls {
  mode: 'disable' | 'prefer' | 'require'
  options: ConnectionOptions
}

/** Thrown for a URL that cannot be used. */
export class DatabaseUrlError extends Error {
  /**
   * @param problems each text continues a sentence that begins with the name of the option or variable: `must name one
   * host`
   */
  constructor(readonly problems: readonly string[]) {
    super(problems.join('; '))
  }
}

const uncheckedCertificate = { rejectUnauthorized: false }

/** The TLS settings for each value of `sslmode` in libpq, and of `ssl` in other drivers. */
const tlsModes = new Map<string, Tls>([
  ...['disable', 'false', '0'].map(name => [name, { mode: 'disable', options: {} }] as const),
  ...['allow', 'prefer'].map(name => [name, { mode: 'prefer', options: uncheckedCertificate }] as const),
  ...['require', 'no-verify'].map(name => [name, { mode: 'require', options: uncheckedCertificate }] as const),
  ['verify-ca', { mode: 'require', options: { checkServerIdentity: () => undefined } }],
  ...['verify-full', 'true', '1'].map(name => [name, { mode: 'require', options: {} }] as const),
])

/** The parameters that name files, and for each the TLS option that takes the content of the file. */
const fileParameters = { sslrootcert: 'ca', sslcert: 'cert', sslkey: 'key', sslcrl: 'crl' } as const

/**
 * The parameters that are accepted with any value. Parameters for pools and time limits have no effect, because this
 * program sets its own.
 */
const unlimitedParameters =
  'connect_timeout keepalives keepalives_idle keepalives_interval keepalives_count tcp_user_timeout sslnegotiation sslsni ' +
  'sslcompression ssl_max_protocol_version load_balance_hosts fallback_application_name krbsrvname gsslib gssdelegation ' +
  'servicefile min_protocol_version max_protocol_version uselibpqcompat connection_limit pool_timeout supa ' +
  'host user password dbname passfile application_name options statement_cache_size'

const booleanValues = [/^(true|false)$/, 'write true or false'] as const
const tlsModeValues = [
  new RegExp(`^(${[...tlsModes.keys()].join('|')})$`),
  'write disable, require or verify-full',
] as const
const verifyFullRemedy = 'remove it, and set sslmode=verify-full, which also proves who the server is'

/** Parameters that are accepted only with certain values, with the remedy for other values. */
const limitedParameters: Readonly<Record<string, readonly [values: RegExp, remedy: string]>> = {
  channel_binding: [/^(disable|prefer)$/, verifyFullRemedy],
  client_encoding: [/^(auto|utf-?8)$/i, 'remove it, because all text is UTF-8'],
  gssencmode: [/^(disable|prefer)$/, 'remove it, and encrypt with sslmode=verify-full'],
  hostaddr: [/^$/, 'write the address in the place of the host'],
  pgbouncer: booleanValues,
  port: [/^([1-9]\d{0,3}|[1-5]\d{4}|6[0-4]\d{3}|65[0-4]\d\d|655[0-2]\d|6553[0-5])$/, 'write a port such as 5432'],
  prepare: booleanValues,
  require_auth: [/^$/, verifyFullRemedy],
  requirepeer: [/^$/, verifyFullRemedy],
  schema: [/^public$/, 'remove it, because the service has its own schemas, and --schema names the schema of a copy'],
  service: [/^$/, 'write the host, the user and the database of that service into the URL'],
  ssl: tlsModeValues,
  ssl_min_protocol_version: [/^TLSv1(\.[12])?$/, 'remove it, because TLS 1.2 is the least'],
  sslcertmode: [/^allow$/, 'remove it, and name a certificate with sslcert where the server asks for one'],
  sslcrldir: [/^$/, 'name a file with sslcrl'],
  sslmode: tlsModeValues,
  sslpassword: [/^$/, 'name a key without a password with sslkey'],
  target_session_attrs: [/^(any|read-write|primary|prefer-standby)$/, 'remove it, and name the primary'],
}

const parameterNames = [
  ...unlimitedParameters.split(' '),
  ...Object.keys(fileParameters),
  ...Object.keys(limitedParameters),
]

const unknownRemedy =
  'which is not known: remove it, or write it as options=-c%20name%3Dvalue if it is a setting of the server'

/** Returns the environment variable of libpq that supplies the default of a parameter. */
function variableOf(name: string): string {
  const irregular = { dbname: 'DATABASE', application_name: 'APPNAME', connect_timeout: 'CONNECT_TIMEOUT' }[name]
  return `PG${irregular ?? name.toUpperCase().replaceAll('_', '')}`
}

/** The environment variables of libpq that are accepted. */
export const databaseVariables = parameterNames.map(variableOf)

/**
 * Reads the URL of a database. Missing parameters are read from the environment variables of libpq, such as
 * `PGSSLMODE`.
 *
 * @returns the options of the driver, and `tls`, which is not an option; `path` is the path of a Unix socket
 * @throws DatabaseUrlError that lists all problems, but no values, which may be secret
 */
export function readDatabaseUrl(text: string, environment = process.env) {
  const given = new Map(splitUrl(text))
  const get = (name: string) => given.get(name) ?? (environment[variableOf(name)] || undefined)
  const problems = [...given.keys()]
    .filter(name => !parameterNames.includes(name))
    .map(name => `has ${name}, ${unknownRemedy}`)
  for (const [name, [accepted, remedy]] of Object.entries(limitedParameters)) {
    const label = given.has(name) ? name : variableOf(name)
    if (get(name) && !accepted.test(get(name) ?? ''))
      problems.push(`has a value of ${label} that is not supported: ${remedy}`)
  }
  const read = (name: string) => {
    const path = get(name)
    try {
      return path && readFileSync(path, 'utf8')
    } catch (error) {
      problems.push(`has the file ${name}, which cannot be read: ${error instanceof Error ? error.message : error}`)
      return undefined
    }
  }
  const [host, port] = [get('host') ?? 'localhost', get('port') ?? '5432']
  if (host.includes(',')) problems.push('must name one host: several, separated by a comma, are not supported')
  const [user, database] = [get('user') ?? '', get('dbname') ?? '']
  const password = get('password') ?? findPassword(read('passfile') ?? '', [host, port, database || user, user])
  const tls = readTls(get, read)
  if (get('sslrootcert') === 'system' && !/^(verify-full|true|1)$/.test(get('sslmode') ?? get('ssl') ?? 'true')) {
    problems.push('must have sslmode=verify-full, or none, with sslrootcert=system')
  }
  if (problems.length > 0) throw new DatabaseUrlError(problems)
  const settings = ['application_name', 'options'].map(name => [name, get(name) ?? ''] as const)
  return {
    host,
    port: Number(port),
    ...(host.includes('/') && { path: `${host}/.s.PGSQL.${port}` }),
    ...{ user, password, database, tls },
    /** Returns the value of a libpq parameter from the URL, or else from the environment variable. */
    parameter: get,
    prepare: get('prepare') !== 'false' && get('pgbouncer') !== 'true' && get('statement_cache_size') !== '0',
    /** The server settings that the driver sends at the start of a connection. */
    connection: Object.fromEntries(settings.filter(([, value]) => value !== '')),
  }
}

/** Splits a URL into parameters. @throws DatabaseUrlError when the text is not a URL of PostgreSQL */
function splitUrl(text: string): (readonly [name: string, value: string])[] {
  // A user without a host is valid for libpq, but not for `URL`.
  const whole = text.replace(/^(\w+:\/\/[^/?#]*@)(?=[/?]|$)/, '$1localhost')
  if (!/^postgres(ql)?:\/\//.test(whole) || !URL.canParse(whole)) {
    throw new DatabaseUrlError(['must be a postgres:// URL, for example postgres://user:password@host:5432/database'])
  }
  const { username, password, hostname, port, pathname, search, hash } = new URL(whole)
  const authority = {
    user: username,
    password,
    host: hostname.replace(/^\[|\]$/g, ''),
    port,
    dbname: pathname.slice(1),
  }
  const query = search.slice(1).split('&').filter(Boolean)
  const pairs = [...Object.entries(authority), ...query.map(part => part.split(/=(.*)/s, 2))]
  try {
    const set = pairs.map(([name = '', value = '']) => [decodeURIComponent(name), decodeURIComponent(value)] as const)
    if (hash === '' && !authority.dbname.includes('/') && set.every(([name]) => /^\w+$/.test(name))) {
      return set.filter(([, value]) => value !== '')
    }
  } catch {
    // Thrown for a `%` that does not begin an encoded character.
  }
  throw new DatabaseUrlError(['must have each % / ? # @ in a user name or password written as %25 %2F %3F %23 %40'])
}

/**
 * Returns the password of a connection from a password file of libpq, whose lines are
 * `host:port:database:user:password`. `*` matches any value.
 */
function findPassword(file: string, wanted: readonly string[]): string {
  const lines = file.split(/\r?\n/).filter(line => !line.startsWith('#'))
  const entries = lines.map(line => line.match(/(\\.|[^:\\])+/g)?.map(field => field.replaceAll(/\\(.)/g, '$1')) ?? [])
  return entries.find(fields => wanted.every((value, at) => fields[at] === '*' || fields[at] === value))?.[4] ?? ''
}

function readTls(get: (name: string) => string | undefined, read: (name: string) => string | undefined): Tls {
  const authorities = get('sslrootcert')
  const mode = get('sslmode') ?? get('ssl') ?? (authorities ? 'verify-full' : get('sslcert') ? 'require' : 'disable')
  // As in libpq, a file with certificate authorities turns on the check of certificates, even in a mode that does not
  // check them.
  const checked = mode.startsWith('verify') || !authorities || authorities === 'system'
  const { mode: use = 'disable', options = {} } = tlsModes.get(mode) ?? {}
  if (use === 'disable') return { mode: use, options }
  const own = Object.entries(fileParameters).map(([name, option]) => [
    option,
    get(name) === 'system' ? undefined : read(name),
  ])
  return {
    mode: use,
    options: { ...(checked ? options : tlsModes.get('verify-ca')?.options), ...Object.fromEntries(own) },
  }
}
