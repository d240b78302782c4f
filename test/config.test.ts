import { describe, expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'

/** Returns the lines about invalid variables; none for a valid environment. */
function problemsOf(environment: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    const [head, ...problems] = (error instanceof Error ? error.message : '').split('\n')
    expect(head).toBe('The configuration is not valid:')
    return problems.map(problem => problem.trim())
  }
}

test('one message lists every invalid variable by name', () => {
  const problems = problemsOf({
    PORT: '65536',
    DATABASE_URL: 'mysql://x',
    DATABASE_POOL: 'many',
    REDIS_URL: 'localhost:6379',
    TRUST_PROXY: '10.0.0.0/0',
    REDEMPTION_TOKEN_TTL: '0',
    CURSOR_KEY: 'short',
    LOG_LEVEL: 'loud',
    GRAPHIQL: 'yes',
    COMPRESSION: 'br',
    PUBLIC_URL: 'http://gateway.example.com',
    OIDC_CLIENT_ID: 'gateway',
  })
  expect(problems).toEqual([
    'PORT must be a whole number from 0 to 65535',
    'DATABASE_URL must be a postgres:// URL, for example postgres://user:password@host:5432/database',
    'DATABASE_POOL must be a whole number from 1 to 1000',
    'REDIS_URL must be a redis:// or rediss:// URL, for example redis://user:password@host:6379/0',
    'TRUST_PROXY must be IP addresses and CIDR ranges, separated by commas, for example 10.0.0.0/8,192.168.1.7',
    'REDEMPTION_TOKEN_TTL must be a whole number from 1 to 86400',
    'CURSOR_KEY must be 64 hexadecimal digits (32 bytes)',
    'LOG_LEVEL must be one of: trace, debug, info, warn, error, fatal, silent',
    'GRAPHIQL must be one of: on, off',
    'COMPRESSION must be one of: on, off',
    'PUBLIC_URL must be an https:// URL (http:// only for this machine), for example https://gateway.example.com',
    'OIDC_CLIENT_ID needs OIDC_ISSUER, for example OIDC_ISSUER=https://login.example.com',
  ])
})

test.each([
  [{}, 1, 'memory'],
  [{}, 2, 'postgres'],
  [{ REDIS_URL: 'redis://localhost' }, 1, 'redis'],
  [{ REDIS_URL: 'redis://localhost' }, 2, 'redis'],
  [{ RATE_STORE: 'postgres' }, 1, 'postgres'],
])('with %o, rates of %i processes are counted in %s', (environment, workers, store) => {
  expect(readConfig(environment, workers).rateStore).toBe(store)
})

test.each([
  [{ RATE_STORE: 'memory' }, 2, 'must not be memory with --workers'],
  [{ RATE_STORE: 'redis' }, 1, 'is redis and needs REDIS_URL'],
  [
    { RATE_STORE: 'postgres', REDIS_URL: 'redis://localhost' },
    1,
    'must be redis, or not be set, when REDIS_URL is set',
  ],
])('%o for %i processes contradicts itself', (environment, workers, problem) => {
  expect(() => readConfig(environment, workers)).toThrow(`RATE_STORE ${problem}`)
})

test('an empty variable counts as not set', () => {
  const empty = { PORT: '', PUBLIC_URL: '', OIDC_ISSUER: '', OIDC_DOMAINS: '', GRAPHIQL: '', CURSOR_KEY: '' }
  expect(readConfig(empty)).toEqual(readConfig({}))
  expect(readConfig({})).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    publicUrl: undefined,
    openId: undefined,
    exportsPerHour: 10,
  })
})

test.each([
  [{}, true],
  [{ TRUST_PROXY: '10.0.0.1' }, false],
  [{ TRUST_PROXY: '10.0.0.1', COMPRESSION: 'on' }, true],
  [{ COMPRESSION: 'off' }, false],
])('responses are compressed unless a proxy is trusted: %j', (environment, compression) => {
  expect(readConfig(environment).compression).toBe(compression)
})

describe('LOG_REQUESTS', () => {
  test.each([
    [{}, { refused: true, share: 0 }],
    [{ LOG_REQUESTS: 'errors' }, { refused: true, share: 0 }],
    [{ LOG_REQUESTS: 'all' }, { refused: true, share: 1 }],
    [{ LOG_REQUESTS: 'sample:0.01' }, { refused: true, share: 0.01 }],
    [{ LOG_REQUESTS: 'off' }, { refused: false, share: 0 }],
  ])('%j', (environment, logRequests) => {
    expect(readConfig(environment).logRequests).toEqual(logRequests)
  })

  test.each(['some', 'sample', 'sample:0', 'sample:0.0', 'sample:2', 'sample:1%'])('%s is invalid', LOG_REQUESTS => {
    expect(() => readConfig({ LOG_REQUESTS })).toThrow('LOG_REQUESTS must be one of: all, errors, sample:0.01')
  })
})

describe('PUBLIC_URL', () => {
  test.each([
    ['https://gateway.example.com', 'https://gateway.example.com'],
    ['https://Gateway.Example.com:443/', 'https://gateway.example.com'],
    ['https://gateway.example.com:8443', 'https://gateway.example.com:8443'],
    ['http://localhost:8080', 'http://localhost:8080'],
    ['http://127.0.0.1:80/', 'http://127.0.0.1'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
  ])('%s becomes the origin %s', (given, origin) => {
    expect(readConfig({ PUBLIC_URL: given }).publicUrl).toBe(origin)
  })

  const isPrivate =
    'PUBLIC_URL must be an https:// URL (http:// only for this machine), for example https://gateway.example.com'
  const noUser = 'PUBLIC_URL must not have a user name or password, for example https://gateway.example.com'
  const noPath = 'PUBLIC_URL must not have a path, query or fragment, for example https://gateway.example.com'

  test.each([
    ['gateway.example.com', [isPrivate]],
    ['http://gateway.example.com', [isPrivate]],
    ['http://localhost.example.com', [isPrivate]],
    ['ftp://localhost', [isPrivate]],
    ['https://gateway.example.com/admin', [noPath]],
    ['https://gateway.example.com?', [noPath]],
    ['https://gateway.example.com/#', [noPath]],
    ['https://ann:secret@gateway.example.com', [noUser]],
    ['https://ann@gateway.example.com/x', [noUser, noPath]],
  ])('%s is rejected', (given, problems) => {
    expect(problemsOf({ PUBLIC_URL: given })).toEqual(problems)
  })
})

describe('the OpenID provider', () => {
  const required = {
    PUBLIC_URL: 'https://gateway.example.com',
    OIDC_ISSUER: 'https://id.example.com',
    OIDC_CLIENT_ID: 'gateway',
    OIDC_CLIENT_SECRET: 'secret',
  }

  test('is read with its domains or its groups', () => {
    expect(readConfig({ ...required, OIDC_DOMAINS: 'Example.com, example.org,' }).openId).toEqual({
      issuer: 'https://id.example.com',
      clientId: 'gateway',
      clientSecret: 'secret',
      domains: ['example.com', 'example.org'],
      groups: [],
      groupsClaim: 'groups',
    })
    const byGroup = { ...required, OIDC_GROUPS: 'Admins', OIDC_GROUPS_CLAIM: 'roles' }
    expect(readConfig(byGroup).openId).toMatchObject({ domains: [], groups: ['Admins'], groupsClaim: 'roles' })
  })

  test('needs its other variables', () => {
    expect(problemsOf({ OIDC_ISSUER: 'https://id.example.com' })).toEqual([
      'OIDC_CLIENT_ID must be set when OIDC_ISSUER is set',
      'OIDC_CLIENT_SECRET must be set when OIDC_ISSUER is set',
      'PUBLIC_URL must be set when OIDC_ISSUER is set',
      'OIDC_DOMAINS or OIDC_GROUPS must be set when OIDC_ISSUER is set, for example OIDC_DOMAINS=example.com',
    ])
    expect(problemsOf({ ...required, OIDC_DOMAINS: ' , ' })).toEqual([
      'OIDC_DOMAINS or OIDC_GROUPS must be set when OIDC_ISSUER is set, for example OIDC_DOMAINS=example.com',
    ])
    expect(problemsOf({ ...required, OIDC_ISSUER: 'http://id.example.com', OIDC_GROUPS: 'admins' })).toEqual([
      'OIDC_ISSUER must be an https:// URL (http:// only for this machine), for example https://gateway.example.com',
    ])
  })

  test.each(['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_DOMAINS', 'OIDC_GROUPS'])('%s needs OIDC_ISSUER', name => {
    expect(problemsOf({ [name]: 'x' })).toEqual([
      `${name} needs OIDC_ISSUER, for example OIDC_ISSUER=https://login.example.com`,
    ])
  })
})
