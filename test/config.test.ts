import { describe, expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'

/** What is wrong with an environment, line by line; empty: nothing. */
function faultsOf(environment: NodeJS.ProcessEnv): string[] {
  try {
    readConfig(environment)
    return []
  } catch (error) {
    const [head, ...problems] = (error instanceof Error ? error.message : '').split('\n')
    expect(head).toBe('The configuration is not valid:')
    return problems.map(fault => fault.trim())
  }
}

test('all errors are told at once, by name', () => {
  const problems = faultsOf({
    PORT: '65536',
    DATABASE_URL: 'mysql://x',
    DATABASE_POOL: 'many',
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
    'PORT must lie between 0 and 65535',
    'DATABASE_URL must be a postgres:// URL, for example postgres://user:password@host:5432/database',
    'DATABASE_POOL must be a whole number',
    'TRUST_PROXY must be addresses and CIDR ranges, separated by commas',
    'REDEMPTION_TOKEN_TTL must lie between 1 and 86400',
    'CURSOR_KEY must be 64 hexadecimal digits (32 bytes)',
    'LOG_LEVEL must be one of: trace, debug, info, warn, error, fatal, silent',
    'GRAPHIQL must be one of: on, off',
    'COMPRESSION must be one of: on, off',
    'PUBLIC_URL must be an https:// URL (http:// only for this machine)',
    'OIDC_CLIENT_ID is set, but OIDC_ISSUER is not',
  ])
})

test('a variable that is set to nothing counts as not set', () => {
  const nothing = { PORT: '', PUBLIC_URL: '', OIDC_ISSUER: '', OIDC_DOMAINS: '', GRAPHIQL: '', CURSOR_KEY: '' }
  expect(readConfig(nothing)).toEqual(readConfig({}))
  expect(readConfig({})).toMatchObject({ host: '127.0.0.1', port: 8080, publicUrl: undefined, openId: undefined })
})

test.each([
  [{}, true],
  [{ TRUST_PROXY: '10.0.0.1' }, false],
  [{ TRUST_PROXY: '10.0.0.1', COMPRESSION: 'on' }, true],
  [{ COMPRESSION: 'off' }, false],
])('answers are compressed unless a proxy is there to do it: %j', (environment, compression) => {
  expect(readConfig(environment).compression).toBe(compression)
})

describe('PUBLIC_URL', () => {
  test.each([
    ['https://gateway.example.com', 'https://gateway.example.com'],
    ['https://Gateway.Example.com:443/', 'https://gateway.example.com'],
    ['https://gateway.example.com:8443', 'https://gateway.example.com:8443'],
    ['http://localhost:8080', 'http://localhost:8080'],
    ['http://127.0.0.1:80/', 'http://127.0.0.1'],
    ['http://[::1]:8080', 'http://[::1]:8080'],
  ])('%s is %s', (given, origin) => {
    expect(readConfig({ PUBLIC_URL: given }).publicUrl).toBe(origin)
  })

  const isPrivate = 'PUBLIC_URL must be an https:// URL (http:// only for this machine)'
  const nobody = 'PUBLIC_URL must have no user name and no password'
  const bare = 'PUBLIC_URL must have no path, no query and no fragment'

  test.each([
    ['gateway.example.com', [isPrivate]],
    ['http://gateway.example.com', [isPrivate]],
    ['http://localhost.example.com', [isPrivate]],
    ['ftp://localhost', [isPrivate]],
    ['https://gateway.example.com/admin', [bare]],
    ['https://gateway.example.com?', [bare]],
    ['https://gateway.example.com/#', [bare]],
    ['https://ann:secret@gateway.example.com', [nobody]],
    ['https://ann@gateway.example.com/x', [nobody, bare]],
  ])('%s is none', (given, problems) => {
    expect(faultsOf({ PUBLIC_URL: given })).toEqual(problems)
  })
})

describe('the OpenID provider', () => {
  const whole = {
    PUBLIC_URL: 'https://gateway.example.com',
    OIDC_ISSUER: 'https://id.example.com',
    OIDC_CLIENT_ID: 'gateway',
    OIDC_CLIENT_SECRET: 'secret',
  }

  test('is who is asked, and who may enter', () => {
    expect(readConfig({ ...whole, OIDC_DOMAINS: 'Example.com, example.org,' }).openId).toEqual({
      issuer: 'https://id.example.com',
      clientId: 'gateway',
      clientSecret: 'secret',
      domains: ['example.com', 'example.org'],
      groups: [],
      groupsClaim: 'groups',
    })
    const byGroup = { ...whole, OIDC_GROUPS: 'Admins', OIDC_GROUPS_CLAIM: 'roles' }
    expect(readConfig(byGroup).openId).toMatchObject({ domains: [], groups: ['Admins'], groupsClaim: 'roles' })
  })

  test('needs all that goes with it', () => {
    expect(faultsOf({ OIDC_ISSUER: 'https://id.example.com' })).toEqual([
      'OIDC_CLIENT_ID must be set with OIDC_ISSUER',
      'OIDC_CLIENT_SECRET must be set with OIDC_ISSUER',
      'PUBLIC_URL must be set with OIDC_ISSUER',
      'OIDC_DOMAINS or OIDC_GROUPS must say who may enter, when OIDC_ISSUER is set',
    ])
    expect(faultsOf({ ...whole, OIDC_DOMAINS: ' , ' })).toEqual([
      'OIDC_DOMAINS or OIDC_GROUPS must say who may enter, when OIDC_ISSUER is set',
    ])
    expect(faultsOf({ ...whole, OIDC_ISSUER: 'http://id.example.com', OIDC_GROUPS: 'admins' })).toEqual([
      'OIDC_ISSUER must be an https:// URL (http:// only for this machine)',
    ])
  })

  test.each([
    'OIDC_CLIENT_ID',
    'OIDC_CLIENT_SECRET',
    'OIDC_DOMAINS',
    'OIDC_GROUPS',
  ])('%s is nothing without it', name => {
    expect(faultsOf({ [name]: 'x' })).toEqual([`${name} is set, but OIDC_ISSUER is not`])
  })
})
