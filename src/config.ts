import { BlockList, isIP } from 'node:net'
import { z } from 'zod'

/** How the service is set up. Everything comes from the environment; `.env.example` says what each means. */
export type Config = z.infer<typeof Environment>

/** Whether the host of a URL is this machine. */
export const isLoopback = (hostname: string) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname)

/** The environment is not as it should be; the message lists all its errors by name. */
class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

const integer = (from: number, to: number) =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine(value => value >= from && value <= to, `must lie between ${from} and ${to}`)

const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, { error: `must be one of: ${words.join(', ')}` })

const flag = oneOf(['on', 'off']).transform(word => word === 'on')

/** Whether the text is an address, or a range of addresses in CIDR notation. */
function isAddressRange(text: string): boolean {
  const [address = '', bits, ...more] = text.split('/')
  const family = isIP(address)
  if (family === 0 || more.length > 0) return false
  if (bits === undefined) return true
  // All addresses at once are no proxy: whoever asks could then say who he is.
  if (!/^[1-9]\d{0,2}$/.test(bits)) return false
  try {
    new BlockList().addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4')
    return true
  } catch {
    return false
  }
}

const words = z.string().transform(text =>
  text
    .split(',')
    .map(part => part.trim())
    .filter(part => part !== ''),
)

const addressRanges = words.refine(
  parts => parts.every(isAddressRange),
  'must be addresses and CIDR ranges, separated by commas',
)

/** Whether each `%` begins an encoded character; the URL parser lets others through. */
function isDecodable(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

const databaseUrl = z
  .string()
  .refine(
    text => URL.canParse(text) && /^postgres(ql)?:$/.test(new URL(text).protocol),
    'must be a postgres:// URL, for example postgres://user:password@host:5432/database',
  )
  .refine(isDecodable, 'must have each % of a name or password written as %25')

/** Whether what is sent there is sent in secret, or stays on this machine. */
function isPrivate(text: string): boolean {
  if (!URL.canParse(text)) return false
  const { protocol, hostname } = new URL(text)
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname))
}

/** A rule for a URL; what is none is for another rule to tell. */
const holdsOf = (rule: (url: URL) => boolean) => (text: string) => !URL.canParse(text) || rule(new URL(text))

const privateUrl = z.string().refine(isPrivate, 'must be an https:// URL (http:// only for this machine)')

const origin = privateUrl
  .refine(
    holdsOf(({ username, password }) => username + password === ''),
    'must have no user name and no password',
  )
  .refine(
    holdsOf(({ href, pathname }) => pathname === '/' && !/[?#]/.test(href)),
    'must have no path, no query and no fragment',
  )
  .transform(text => new URL(text).origin)

const Environment = z
  .object({
    NODE_ENV: z.string().default('development'),
    HOST: z.string().default('127.0.0.1'),
    PORT: integer(0, 65535).default(8080),
    DATABASE_URL: databaseUrl.optional(),
    DATABASE_POOL: integer(1, 1000).default(10),
    DATA_DIR: z.string().default('.data'),
    TRUST_PROXY: addressRanges.default([]),
    RATE_LIMIT_PER_MINUTE: integer(1, 1_000_000).default(120),
    REDEMPTION_TOKEN_TTL: integer(1, 86_400).default(900),
    CURSOR_KEY: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits (32 bytes)')
      .optional(),
    LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']).default('info'),
    GRAPHIQL: flag.optional(),
    COMPRESSION: flag.optional(),
    PUBLIC_URL: origin.optional(),
    OIDC_ISSUER: privateUrl.optional(),
    OIDC_CLIENT_ID: z.string().optional(),
    OIDC_CLIENT_SECRET: z.string().optional(),
    OIDC_DOMAINS: words.default([]),
    OIDC_GROUPS: words.default([]),
    OIDC_GROUPS_CLAIM: z.string().default('groups'),
  })
  .superRefine(
    (environment, problems) => {
      const say = (path: string, message: string) => problems.addIssue({ code: 'custom', path: [path], message })
      const isSet = (name: keyof typeof environment) => [environment[name] ?? []].flat().length > 0
      if (!isSet('OIDC_ISSUER')) {
        for (const name of ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_DOMAINS', 'OIDC_GROUPS'] as const) {
          if (isSet(name)) say(name, 'is set, but OIDC_ISSUER is not')
        }
        return
      }
      for (const name of ['OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'PUBLIC_URL'] as const) {
        if (!isSet(name)) say(name, 'must be set with OIDC_ISSUER')
      }
      if (!isSet('OIDC_DOMAINS') && !isSet('OIDC_GROUPS')) {
        say('OIDC_DOMAINS', 'or OIDC_GROUPS must say who may enter, when OIDC_ISSUER is set')
      }
    },
    // Also beside other errors: all are told at once.
    { when: () => true },
  )
  .transform(environment => ({
    host: environment.HOST,
    port: environment.PORT,
    /** Undefined: an embedded server in `dataDir`. */
    databaseUrl: environment.DATABASE_URL,
    databasePool: environment.DATABASE_POOL,
    dataDir: environment.DATA_DIR,
    /** Proxies whose `X-Forwarded-For` is believed (R30). */
    trustProxy: environment.TRUST_PROXY,
    rateLimitPerMinute: environment.RATE_LIMIT_PER_MINUTE,
    /** Seconds. */
    redemptionTokenTtl: environment.REDEMPTION_TOKEN_TTL,
    /** 32 bytes; undefined: the key that is kept in the database. */
    cursorKey: environment.CURSOR_KEY === undefined ? undefined : Buffer.from(environment.CURSOR_KEY, 'hex'),
    logLevel: environment.LOG_LEVEL,
    graphiql: environment.GRAPHIQL ?? environment.NODE_ENV !== 'production',
    /** Whether answers of the doors are compressed; a proxy in front does that itself. */
    compression: environment.COMPRESSION ?? environment.TRUST_PROXY.length === 0,
    /** The origin under which people reach the service; undefined: this machine alone, under any of its names. */
    publicUrl: environment.PUBLIC_URL,
    /** The OpenID provider through which administrators may sign in. */
    openId:
      environment.OIDC_ISSUER === undefined
        ? undefined
        : {
            issuer: environment.OIDC_ISSUER,
            clientId: environment.OIDC_CLIENT_ID ?? '',
            clientSecret: environment.OIDC_CLIENT_SECRET ?? '',
            /** Domains of verified e-mail addresses that may enter, in lower case. */
            domains: environment.OIDC_DOMAINS.map(domain => domain.toLowerCase()),
            /** Groups that may enter, by the claim that lists them. */
            groups: environment.OIDC_GROUPS,
            groupsClaim: environment.OIDC_GROUPS_CLAIM,
          },
  }))

/**
 * Reads the configuration. A variable that is set to nothing counts as not set.
 *
 * @param environment usually `process.env`
 * @throws ConfigError with every fault by name
 */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''))
  const read = Environment.safeParse(set)
  if (read.success) return read.data
  const problems = read.error.issues.map(issue => `  ${issue.path.join('.')} ${issue.message}`)
  throw new ConfigError(`The configuration is not valid:\n${problems.join('\n')}`)
}
