import { z } from 'zod'
import { DatabaseUrlError, readDatabaseUrl } from '#database-url'
import { similarNames, unknownVariable } from './variable-names.ts'

/** The configuration, read from the environment; `.env.example` explains each variable. */
export type Config = z.infer<typeof Environment>

/** Returns whether the host of a URL is this machine. */
export const isLoopback = (hostname: string) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

const integer = (from: number, to: number) =>
  z
    .string()
    .refine(
      text => /^\d+$/.test(text) && Number(text) >= from && Number(text) <= to,
      `must be a whole number from ${from} to ${to}`,
    )
    .transform(Number)

const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, { error: `must be one of: ${words.join(', ')}` })

const flag = oneOf(['on', 'off']).transform(word => word === 'on')

/** The requests that have a line in the log: none, the refused ones, or the refused ones and a share of the others. */
const requestLog = z
  .string()
  .regex(
    /^(all|errors|off|sample:(0\.0*[1-9]\d*|1(\.0+)?))$/,
    'must be one of: all, errors, sample:0.01 (any share above 0, up to 1), off',
  )
  .transform(text => ({
    refused: text !== 'off',
    share: text === 'all' ? 1 : Number(/^sample:(.*)/.exec(text)?.[1] ?? 0),
  }))

const words = z.string().transform(text => text.split(',').flatMap(part => part.trim() || []))

const domains = words.refine(
  parts => parts.every(part => /^[\p{L}\d-]+(\.[\p{L}\d-]+)*$/u.test(part)),
  'must be domains, separated by commas, for example example.com,example.org',
)

/** A contact as its URI (RFC 9116 §2.5.3). */
const contact = z.union([
  z.email().transform(address => `mailto:${address}`),
  z.url({ protocol: /^https$/, normalize: true }),
])

const contacts = z
  .string()
  .transform(text => text.split(/[\s,]+/).flatMap(part => (part === '' ? [] : [contact.safeParse(part).data])))
  .refine(
    uris => uris.length > 0 && !uris.includes(undefined),
    'must be e-mail addresses and https:// URLs, separated by commas or spaces, for example security@example.com',
  )
  .transform(uris => uris.flatMap(uri => uri ?? []))

const addressRange = z.union([z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()])

const addressRanges = words.refine(
  // A range of all addresses is rejected: then any caller could choose its own address.
  parts => parts.length > 0 && parts.every(part => addressRange.safeParse(part).success && !part.endsWith('/0')),
  'must be IP addresses and CIDR ranges, separated by commas, for example 10.0.0.0/8,192.168.1.7',
)

const databaseUrl = z.string().superRefine((text, context) => {
  try {
    readDatabaseUrl(text)
  } catch (error) {
    if (!(error instanceof DatabaseUrlError)) throw error
    for (const message of error.problems) context.addIssue({ code: 'custom', message })
  }
})

const redisUrl = z.url({
  protocol: /^rediss?$/,
  error: 'must be a redis:// or rediss:// URL, for example redis://user:password@host:6379/0',
})

/** A URL to which requests are encrypted, or stay on this machine. */
const privacy = 'must be an https:// URL (http:// only for this machine), for example https://gateway.example.com'
const privateUrl = z
  .url({ protocol: /^https?$/, error: privacy })
  .transform(text => new URL(text))
  .refine(({ protocol, hostname }) => protocol !== 'http:' || isLoopback(hostname), privacy)

const origin = privateUrl
  .refine(
    ({ username, password }) => username + password === '',
    'must not have a user name or password, for example https://gateway.example.com',
  )
  .refine(
    ({ href, pathname }) => pathname === '/' && !/[?#]/.test(href),
    'must not have a path, query or fragment, for example https://gateway.example.com',
  )
  .transform(url => url.origin)

const variables = z.object({
  /** The processes that answer requests: an option of `serve`, not a variable. */
  workers: z.number(),
  NODE_ENV: oneOf(['development', 'production', 'test']).default('development'),
  HOST: z.string().default('127.0.0.1'),
  PORT: integer(0, 65535).default(8080),
  HEALTH_PORT: integer(1, 65535).optional(),
  SHUTDOWN_DELAY: integer(0, 300).optional(),
  DATABASE_URL: databaseUrl.optional(),
  PLATFORM_URL: databaseUrl.optional(),
  DATABASE_POOL: integer(1, 1000).default(10),
  DATABASE_STARTUP_PARAMETERS: flag.default(true),
  REDIS_URL: redisUrl.optional(),
  RATE_STORE: oneOf(['memory', 'postgres', 'redis']).optional(),
  DATA_DIR: z.string().default('.data'),
  MAX_REQUESTS: integer(10, 100_000).default(160),
  TRUST_PROXY: addressRanges.default([]),
  RATE_LIMIT_PER_MINUTE: integer(1, 1_000_000).default(120),
  EXPORTS_PER_HOUR: integer(1, 1_000_000).default(10),
  REDEMPTION_TOKEN_TTL: integer(1, 86_400).default(900),
  CURSOR_KEY: z
    .string()
    .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits (32 bytes)')
    .optional(),
  LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
  LOG_REQUESTS: requestLog.prefault('errors'),
  GRAPHIQL: flag.optional(),
  GRAPHQL_DOCUMENTS: oneOf(['any', 'trusted']).default('any'),
  GRAPHQL_DOCUMENTS_PATH: z.string().optional(),
  COMPRESSION: flag.optional(),
  PUBLIC_URL: origin.optional(),
  SECURITY_CONTACT: contacts.default([]),
  OIDC_ISSUER: privateUrl.optional(),
  OIDC_CLIENT_ID: z.string().optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),
  OIDC_DOMAINS: domains.default([]),
  OIDC_GROUPS: words.default([]),
  OIDC_GROUPS_CLAIM: z.string().default('groups'),
})

/** The names of all variables. */
export const variableNames = Object.keys(variables.shape).filter(name => name !== 'workers')

const Environment = variables
  .superRefine(
    (environment, context) => {
      const { RATE_STORE: store, workers } = environment
      const isSet = (name: keyof typeof environment) => [environment[name] ?? []].flat().length > 0
      const refuse = (path: keyof typeof environment, when: boolean, message: string) => {
        if (when) context.addIssue({ code: 'custom', path: [path], message })
      }
      const memory =
        'must not be memory with --workers, because each worker would count by itself: use postgres or redis'
      refuse('RATE_STORE', store === 'memory' && workers > 1, memory)
      const redis = 'is redis and needs REDIS_URL, for example REDIS_URL=redis://localhost:6379/0'
      refuse('RATE_STORE', store === 'redis' && !isSet('REDIS_URL'), redis)
      const other = isSet('RATE_STORE') && store !== 'redis' && isSet('REDIS_URL')
      refuse('RATE_STORE', other, 'must be redis, or not be set, when REDIS_URL is set')
      const hasIssuer = isSet('OIDC_ISSUER')
      for (const name of ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_DOMAINS', 'OIDC_GROUPS'] as const) {
        const message = 'needs OIDC_ISSUER, for example OIDC_ISSUER=https://login.example.com'
        refuse(name, !hasIssuer && isSet(name), message)
      }
      for (const name of ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'PUBLIC_URL'] as const) {
        refuse(name, hasIssuer && !isSet(name), 'must be set when OIDC_ISSUER is set')
      }
      const groups = 'or OIDC_GROUPS must be set when OIDC_ISSUER is set, for example OIDC_DOMAINS=example.com'
      refuse('OIDC_DOMAINS', hasIssuer && !isSet('OIDC_DOMAINS') && !isSet('OIDC_GROUPS'), groups)
    },
    // Runs also when there are other errors, so that one message lists all of them.
    { when: () => true },
  )
  .transform(environment => ({
    host: environment.HOST,
    port: environment.PORT,
    /** The port of the health checks; when undefined, they are at `port`. */
    healthPort: environment.HEALTH_PORT,
    /** The time that connections are still accepted after a signal to stop, in seconds. */
    shutdownDelay: environment.SHUTDOWN_DELAY ?? (environment.NODE_ENV === 'production' ? 5 : 0),
    /** When undefined, an embedded server runs in `dataDir`. */
    databaseUrl: environment.DATABASE_URL,
    /** The database of a platform whose changes are replicated into that of `databaseUrl`. */
    platformUrl: environment.PLATFORM_URL,
    databasePool: environment.DATABASE_POOL,
    /** True when connections set their role and limits as they start, which a pooler may refuse. */
    startupParameters: environment.DATABASE_STARTUP_PARAMETERS,
    /** The store of the rates: `memory` counts for one process, which costs least; the others for all that share them. */
    rateStore:
      environment.RATE_STORE ?? (environment.REDIS_URL ? 'redis' : environment.workers > 1 ? 'postgres' : 'memory'),
    redisUrl: environment.REDIS_URL,
    dataDir: environment.DATA_DIR,
    /** The most requests of REST and GraphQL under way. */
    maxRequests: environment.MAX_REQUESTS,
    /** Proxies whose `X-Forwarded-For` is trusted (R30). */
    trustProxy: environment.TRUST_PROXY,
    rateLimitPerMinute: environment.RATE_LIMIT_PER_MINUTE,
    /** The most bulk exports that a token may begin in an hour. */
    exportsPerHour: environment.EXPORTS_PER_HOUR,
    /** The lifetime of redemption tokens, in seconds. */
    redemptionTokenTtl: environment.REDEMPTION_TOKEN_TTL,
    /** 32 bytes; when undefined, the key in the database is used. */
    cursorKey: environment.CURSOR_KEY === undefined ? undefined : Buffer.from(environment.CURSOR_KEY, 'hex'),
    logLevel: environment.LOG_LEVEL,
    /** The requests that have lines in the log: refused ones or not, and a share of all. */
    logRequests: environment.LOG_REQUESTS,
    graphiql: environment.GRAPHIQL ?? environment.NODE_ENV !== 'production',
    /** The GraphQL documents that may run: any document, or only trusted ones, which requests name by id. */
    graphqlDocuments: environment.GRAPHQL_DOCUMENTS,
    /** A file or a directory with further trusted documents. */
    graphqlDocumentsPath: environment.GRAPHQL_DOCUMENTS_PATH,
    /** True when responses of REST and GraphQL are compressed; a reverse proxy can do that itself. */
    compression: environment.COMPRESSION ?? environment.TRUST_PROXY.length === 0,
    /** The origin under which people reach the service; when undefined, only this machine, under any of its names. */
    publicUrl: environment.PUBLIC_URL,
    /** The contacts for reports of weaknesses (RFC 9116), as URIs, the preferred one first. */
    securityContacts: environment.SECURITY_CONTACT,
    /** The OpenID provider for the sign-in of administrators. */
    openId:
      environment.OIDC_ISSUER === undefined
        ? undefined
        : {
            issuer: environment.OIDC_ISSUER,
            clientId: environment.OIDC_CLIENT_ID ?? '',
            clientSecret: environment.OIDC_CLIENT_SECRET ?? '',
            /** Domains of verified e-mail addresses that may sign in, in lower case. */
            domains: environment.OIDC_DOMAINS.map(domain => domain.toLowerCase()),
            /** Groups that may sign in, as the claim `groupsClaim` lists them. */
            groups: environment.OIDC_GROUPS,
            groupsClaim: environment.OIDC_GROUPS_CLAIM,
          },
  }))

/**
 * Reads the configuration. White space around a value is left out, and an empty variable counts as not set. A variable
 * that has none of our names, but nearly, is an error.
 *
 * @param environment usually `process.env`
 * @param workers how many processes of this instance answer requests
 * @throws Error that lists every invalid variable
 */
export function readConfig(environment: NodeJS.ProcessEnv, workers = 1): Config {
  const trimmed = Object.entries(environment).map(([name, value = '']) => [name, value.trim()] as const)
  const set = trimmed.filter(([, value]) => value !== '')
  const values = Object.fromEntries(set)
  const unset = variableNames.filter(name => values[name] === undefined)
  const read = Environment.safeParse({ ...values, workers })
  const unknown = set.flatMap(([name]) => {
    const similar = variableNames.includes(name) ? [] : similarNames(name, variableNames, unset)
    return similar.length > 0 ? [unknownVariable(name, similar)] : []
  })
  if (read.success && unknown.length === 0) return read.data
  const invalid = read.error?.issues.map(issue => `${issue.path.join('.')} ${issue.message}`) ?? []
  const problems = [...invalid, ...unknown].map(problem => `  ${problem}`)
  throw new Error(`The configuration is not valid:\n${problems.join('\n')}`)
}
