import { expect, test } from 'vitest'
import { type Config, readConfig } from '../src/config/config.ts'
import { ReasonError } from '../src/reasons.ts'

/** Returns the lines of the error about invalid variables; an empty list for a valid environment. */
function problemsOf(environment: NodeJS.ProcessEnv, workers = 1): string[] {
  try {
    readConfig(environment, workers)
    return []
  } catch (error) {
    if (!(error instanceof ReasonError)) throw error
    return error.reasons.map(({ code, message, action }) =>
      code === 'CONFIG_INVALID' ? message.slice(0, -1) : `${message} ${action}`,
    )
  }
}

/** Returns matchers for problems that begin with these texts. */
const matchBeginnings = (...texts: string[]) => texts.map(text => expect.stringMatching(`^${text}`))

test('one message lists every invalid variable by name', () => {
  const invalid = {
    ...{ PORT: '65536', DATABASE_URL: 'mysql://x', DATABASE_REPLICA_URLS: 'postgres://a/x, mysql://b/x' },
    ...{ DATABASE_POOL: 'many', REDIS_URL: 'localhost:6379', TRUST_PROXY: '10.0.0.0/0', REDEMPTION_TOKEN_TTL: '0' },
    ...{ REDEMPTION_AUDIENCE: 'two words', REDEMPTION_KEYS: '0'.repeat(64), CURSOR_KEY: 'short', LOG_LEVEL: 'loud' },
    ...{ GRAPHIQL: 'yes', COMPRESSION: 'br' },
  }
  const problems = problemsOf(invalid)
  expect(problems).toEqual(matchBeginnings(...Object.keys(invalid).map(name => `${name}(.1)? must (be|have) `)))
  expect(problems[0]).toBe('PORT must be a whole number from 0 to 65535')
})

test.each<[NodeJS.ProcessEnv, Partial<Config>, number?]>([
  [{}, { rateStore: 'memory', replicaUrls: [], compression: true, logRequests: { refused: true, share: 0 } }],
  [
    { DATABASE_URL: 'postgres://a/x', DATABASE_REPLICA_URLS: 'postgres://b/x, postgres://c/x' },
    { replicaUrls: ['postgres://b/x', 'postgres://c/x'] },
  ],
  [{}, { rateStore: 'postgres' }, 2],
  [{ REDIS_URL: 'redis://localhost' }, { rateStore: 'redis' }],
  [{ RATE_STORE: 'postgres' }, { rateStore: 'postgres' }],
  // Behind a proxy the service does not compress, because the proxy compresses.
  [{ TRUST_PROXY: '10.0.0.1' }, { compression: false }],
  [{ TRUST_PROXY: '10.0.0.1', COMPRESSION: 'on' }, { compression: true }],
  [{ COMPRESSION: 'off' }, { compression: false }],
  [{ LOG_REQUESTS: 'errors' }, { logRequests: { refused: true, share: 0 } }],
  [{ LOG_REQUESTS: 'all' }, { logRequests: { refused: true, share: 1 } }],
  [{ LOG_REQUESTS: 'sample:0.01' }, { logRequests: { refused: true, share: 0.01 } }],
  [{ LOG_REQUESTS: 'off' }, { logRequests: { refused: false, share: 0 } }],
  [{ PUBLIC_URL: 'https://Gateway.Example.com:443/' }, { publicUrl: 'https://gateway.example.com' }],
  [{ PUBLIC_URL: 'https://gateway.example.com:8443' }, { publicUrl: 'https://gateway.example.com:8443' }],
  [{ PUBLIC_URL: 'http://localhost:8080' }, { publicUrl: 'http://localhost:8080' }],
  [{ PUBLIC_URL: 'http://127.0.0.1:80/' }, { publicUrl: 'http://127.0.0.1' }],
  [{ PUBLIC_URL: 'http://[::1]:8080' }, { publicUrl: 'http://[::1]:8080' }],
  [
    { SECURITY_CONTACT: 'https://Example.com/report,\tann@example.com sec+gw@example.com,' },
    { securityContacts: ['https://example.com/report', 'mailto:ann@example.com', 'mailto:sec+gw@example.com'] },
  ],
])('%j gives %j', (environment, settings, workers = 1) => {
  const config = readConfig(environment, workers)
  expect(config).toEqual({ ...config, ...settings })
})

test('white space around a value is ignored, and an empty variable counts as not set', () => {
  expect(readConfig({ PORT: ' 8081\n', LOG_LEVEL: '\u00A0warn\r' })).toMatchObject({ port: 8081, logLevel: 'warn' })
  const empty = { PORT: ' ', PUBLIC_URL: '', OIDC_ISSUER: '', OIDC_DOMAINS: '', GRAPHIQL: '', CURSOR_KEY: '' }
  expect(readConfig(empty)).toEqual(readConfig({}))
  const defaults = { host: '127.0.0.1', port: 8080, publicUrl: undefined, openId: undefined, exportsPerHour: 10 }
  expect(readConfig({})).toMatchObject(defaults)
})

test.each([
  ['DATABASE_URl', 'DATABASE_URL'],
  ['database_url', 'DATABASE_URL'],
  ['DATABSAE_URL', 'DATABASE_URL'],
  ['LOGLEVEL', 'LOG_LEVEL'],
  ['GRAPHIQLE', 'GRAPHIQL'],
  ['DATABASE_STARTUP', 'DATABASE_STARTUP_PARAMETERS'],
  ['RATE_LIMIT', 'RATE_LIMIT_PER_MINUTE'],
  ['RATE_PER_MINUTE', 'RATE_STORE or RATE_LIMIT_PER_MINUTE'],
  ['TRUST_PROXIES', 'TRUST_PROXY'],
  ['DATABASE_URL_FILE', 'DATABASE_URL'],
  ['DATABASE_POOL_SIZE', 'DATABASE_POOL'],
])('%s, which is nearly the name of a variable, is rejected', (name, meant) => {
  expect(problemsOf({ [name]: 'x' })).toEqual([`${name} is not a variable of this service. Did you mean ${meant}?`])
})

test('variables of other programs are ignored', () => {
  const links = { REDIS_PORT_6379_TCP_ADDR: 'x', DATABASE_SERVICE_HOST: 'x', GRAPHQL_SERVICE_PORT_HTTP: 'x' }
  const hosts = { HOSTNAME: 'x', PORTS: 'x', REDIS_HOST: 'x', DATABASE_PASSWORD: 'x', DATABASE_PRIVATE_URL: 'x' }
  const longer = { DATABASE_URL: 'postgres://host/name', DATABASE_URL_UNPOOLED: 'x', HEALTH_PORT_80_TCP_ADDR: 'x' }
  const others = { PATH: 'x', LOGNAME: 'x', PGHOST: 'x', NODE_OPTIONS: 'x', npm_config_cache: 'x', PUBLIC_IP: 'x' }
  expect(problemsOf({ ...links, ...hosts, ...longer, ...others, RATE_PORT: 'tcp://10.0.0.1:80' })).toEqual([])
  const own = { METRICS_PORT: 'tcp://10.0.0.1:9464', HEALTH_PORT: 'udp://10.0.0.1:80' }
  expect(readConfig(own)).toMatchObject({ metricsPort: undefined, healthPort: undefined })
})

const provider = {
  PUBLIC_URL: 'https://gateway.example.com',
  OIDC_ISSUER: 'https://id.example.com',
  OIDC_CLIENT_ID: 'gateway',
  OIDC_CLIENT_SECRET: 'secret',
}

test('a provider can be configured with domains, with groups, or with both', () => {
  expect(readConfig({ ...provider, OIDC_DOMAINS: 'Example.com, example.org,' }).openId).toEqual({
    ...{ issuer: new URL('https://id.example.com'), clientId: 'gateway', clientSecret: 'secret' },
    ...{ domains: ['example.com', 'example.org'], groups: [], groupsClaim: 'groups' },
  })
  const byGroup = { ...provider, OIDC_GROUPS: 'Admins', OIDC_GROUPS_CLAIM: 'roles' }
  expect(readConfig(byGroup).openId).toMatchObject({ domains: [], groups: ['Admins'], groupsClaim: 'roles' })
})

/** Returns one test case per value of a variable. */
const createCases = (name: string, values: string[], problem = `${name} must be `) =>
  values.map((value): [NodeJS.ProcessEnv, string[]] => [{ [name]: value }, [problem]])

const providerVariables = ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_DOMAINS', 'OIDC_GROUPS']
const database = 'postgres://host/x?'
const urlWithSeveralFaults = `${database}colour=red&sslmode=verfy-full&channel_binding=require&schema=shop&port=0`
const url = 'https://gateway.example.com'

test.each<[NodeJS.ProcessEnv, problems: string[], workers?: number]>([
  ...createCases('PUBLIC_URL', [
    'gateway.example.com',
    'http://gateway.example.com',
    'http://localhost.example.com',
    'ftp://localhost',
  ]),
  ...createCases(
    'PUBLIC_URL',
    [`${url}/admin`, `${url}?`, `${url}/#`],
    'PUBLIC_URL must not have a path, query or fragment',
  ),
  ...createCases(
    'PUBLIC_URL',
    ['https://ann:secret@gateway.example.com'],
    'PUBLIC_URL must not have a user name or password',
  ),
  [
    { PUBLIC_URL: 'https://ann@gateway.example.com/x' },
    ['PUBLIC_URL must not have a user', 'PUBLIC_URL must not have a path'],
  ],
  ...createCases('DATABASE_URL', ['mysql://host/x', 'host', 'postgres:host', 'postgres://u:p@host:99999/x']),
  ...createCases('DATABASE_URL', ['postgres://a,b/x', 'postgres:///x?host=a,b'], 'DATABASE_URL must name one host'),
  [
    { DATABASE_URL: urlWithSeveralFaults },
    ['colour', 'a value of channel_binding', 'a value of port', 'a value of schema', 'a value of sslmode'].map(
      what => `DATABASE_URL has ${what}`,
    ),
  ],
  ...createCases(
    'DATABASE_URL',
    ['gssencmode=require', 'target_session_attrs=standby', 'service=shop', 'hostaddr=::1', 'sslcrldir=/etc'].map(
      parameter => database + parameter,
    ),
    'DATABASE_URL has a value of \\w+ that is not supported: ',
  ),
  ...createCases('DATABASE_URL', [`${database}sslcert=/nowhere`], 'DATABASE_URL has the file sslcert, which cannot'),
  ...createCases(
    'DATABASE_URL',
    ['require', 'disable', 'verify-ca'].map(mode => `${database}sslrootcert=system&sslmode=${mode}`),
    'DATABASE_URL must have sslmode=verify-full, or none, with sslrootcert=system',
  ),
  ...createCases('NODE_ENV', ['prod', 'Production']),
  ...createCases(
    'SECURITY_CONTACT',
    'ann ann@example.com;bo@example.com http://example.com https:// javascript:x ann@example.com?x ,'.split(' '),
  ),
  ...createCases('LOG_REQUESTS', ['some', 'sample', 'sample:0', 'sample:0.0', 'sample:2', 'sample:1%']),
  ...providerVariables.flatMap(name =>
    createCases(name, ['x'], `${name} needs OIDC_ISSUER, for example OIDC_ISSUER=https://`),
  ),
  ...['@example.com', '*.example.com', 'a.com;b.com', 'a.com b.com', 'https://a.com'].map(
    (value): [NodeJS.ProcessEnv, string[]] => [{ ...provider, OIDC_DOMAINS: value }, ['OIDC_DOMAINS must be domains']],
  ),
  [
    { OIDC_ISSUER: 'https://id.example.com' },
    ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'PUBLIC_URL', 'OIDC_DOMAINS or OIDC_GROUPS'].map(
      name => `${name} must be set`,
    ),
  ],
  [{ ...provider, OIDC_DOMAINS: ' , ' }, ['OIDC_DOMAINS or OIDC_GROUPS must be set when OIDC_ISSUER is set']],
  [
    { ...provider, OIDC_ISSUER: 'http://id.example.com', OIDC_GROUPS: 'admins' },
    ['OIDC_ISSUER must be an https:// URL'],
  ],
  [
    { NODE_ENV: 'production', DATABASE_URL: ' ', PORT: 'x' },
    ['PORT must be', 'DATABASE_URL must be set when NODE_ENV is'],
  ],
  [{ RATE_STORE: 'memory' }, ['RATE_STORE must not be memory with --workers'], 2],
  [{ RATE_STORE: 'redis' }, ['RATE_STORE is redis and needs REDIS_URL']],
  [
    { RATE_STORE: 'postgres', REDIS_URL: 'redis://localhost' },
    ['RATE_STORE must be redis, or not be set, when REDIS_URL'],
  ],
])('%j is rejected: %j', (environment, problems, workers = 1) => {
  expect(problemsOf(environment, workers)).toEqual(matchBeginnings(...problems))
})

const unencodedPasswords = ['50%off', '%ff', '12?s3cret', '12#s3cret', '12/s3cret']

test.each(
  unencodedPasswords,
)('the password %s in DATABASE_URL, which is not percent-encoded, is refused and not shown', password => {
  const [problem, ...others] = problemsOf({ DATABASE_URL: `postgres://ann:${password}@localhost/shop` })
  expect(problem).toContain('DATABASE_URL must have each % / ? # @ in a user name or password written as %25')
  expect(problem).not.toContain(password)
  expect(others).toEqual([])
})
