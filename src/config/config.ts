import { z } from 'zod'
import { ReasonError, reason } from '../reasons.ts'
import { isServiceLink, similarNames, unknownVariable } from './variable-names.ts'
import { variableNames, variables } from './variables.ts'

/** Reads the configuration from the environment; `variables.ts` describes each variable. */
export type Config = z.infer<typeof Environment>

/** The values of the variables, and the number of processes that answer requests, which is an option of `serve`. */
const Environment = variables
  .extend({ workers: z.number() })
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
      const isDemo = environment.NODE_ENV === 'production' && !isSet('DATABASE_URL')
      const database =
        'must be set when NODE_ENV is production, for example postgres://user:password@host:5432/database'
      refuse('DATABASE_URL', isDemo, database)
      const ports: unknown[] = [environment.PORT, environment.HEALTH_PORT]
      const shared = isSet('METRICS_PORT') && ports.includes(environment.METRICS_PORT)
      refuse('METRICS_PORT', shared, 'must not be PORT or HEALTH_PORT, for example METRICS_PORT=9464')
      const standbys = 'needs DATABASE_URL, the address of the primary'
      refuse('DATABASE_REPLICA_URLS', isSet('DATABASE_REPLICA_URLS') && !isSet('DATABASE_URL'), standbys)
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
    // Runs even when there are other errors, so that one message lists all errors.
    { when: () => true },
  )
  .transform(environment => ({
    host: environment.HOST,
    port: environment.PORT,
    healthPort: environment.HEALTH_PORT,
    metricsPort: environment.METRICS_PORT,
    shutdownDelay: environment.SHUTDOWN_DELAY ?? (environment.NODE_ENV === 'production' ? 5 : 0),
    databaseUrl: environment.DATABASE_URL,
    replicaUrls: environment.DATABASE_REPLICA_URLS,
    platformUrl: environment.PLATFORM_URL,
    databasePool: environment.DATABASE_POOL,
    startupParameters: environment.DATABASE_STARTUP_PARAMETERS,
    /**
     * The store that counts the calls of the rate limit. `memory` counts for one process, and is the fastest; several
     * processes can share each of the other stores.
     */
    rateStore:
      environment.RATE_STORE ?? (environment.REDIS_URL ? 'redis' : environment.workers > 1 ? 'postgres' : 'memory'),
    redisUrl: environment.REDIS_URL,
    dataDir: environment.DATA_DIR,
    maxRequests: environment.MAX_REQUESTS,
    trustProxy: environment.TRUST_PROXY,
    rateLimitPerMinute: environment.RATE_LIMIT_PER_MINUTE,
    exportsPerHour: environment.EXPORTS_PER_HOUR,
    /** The origin under which browsers and clients reach the service. */
    publicOrigin: environment.PUBLIC_URL ?? `http://localhost:${environment.PORT}`,
    webhook: {
      /** 32 bytes; when undefined, the key in the database is used. */
      key: environment.WEBHOOK_KEY,
      networks: environment.WEBHOOK_NETWORKS,
    },
    redemption: {
      issuer: environment.PUBLIC_URL ?? `http://localhost:${environment.PORT}`,
      audience: environment.REDEMPTION_AUDIENCE,
      /** Seconds until a redemption token expires. */
      timeToLive: environment.REDEMPTION_TOKEN_TTL,
      /** Private keys. The service signs with the first key; when undefined, it uses the keys in the database. */
      keys: environment.REDEMPTION_KEYS,
    },
    /** 32 bytes; when undefined, the key in the database is used. */
    cursorKey: environment.CURSOR_KEY,
    logLevel: environment.LOG_LEVEL,
    logRequests: environment.LOG_REQUESTS,
    graphiql: environment.GRAPHIQL ?? environment.NODE_ENV !== 'production',
    graphqlDocuments: environment.GRAPHQL_DOCUMENTS,
    graphqlDocumentsPath: environment.GRAPHQL_DOCUMENTS_PATH,
    compression: environment.COMPRESSION ?? environment.TRUST_PROXY.length === 0,
    publicUrl: environment.PUBLIC_URL,
    /** The contacts for reports of weaknesses (RFC 9116), as URIs, the preferred one first. */
    securityContacts: environment.SECURITY_CONTACT,
    openId:
      environment.OIDC_ISSUER === undefined
        ? undefined
        : {
            issuer: environment.OIDC_ISSUER,
            clientId: environment.OIDC_CLIENT_ID ?? '',
            clientSecret: environment.OIDC_CLIENT_SECRET ?? '',
            /** Domains of verified e-mail addresses that may sign in, in lower case. */
            domains: environment.OIDC_DOMAINS.map(domain => domain.toLowerCase()),
            groups: environment.OIDC_GROUPS,
            groupsClaim: environment.OIDC_GROUPS_CLAIM,
          },
  }))

/**
 * Reads the configuration. Ignores white space around a value. An empty variable counts as not set, and so does a
 * variable that Kubernetes sets for a service of the same name. A name that resembles the name of a variable is an
 * error.
 *
 * @param environment usually `process.env`
 * @param workers the number of processes of this instance that answer requests
 * @throws ReasonError with a reason for each invalid variable
 */
export function readConfig(environment: NodeJS.ProcessEnv, workers = 1): Config {
  const trimmed = Object.entries(environment).map(([name, value = '']) => [name, value.trim()] as const)
  const set = trimmed.filter(([name, value]) => value !== '' && !isServiceLink(name, value))
  const values = Object.fromEntries(set)
  const unset = variableNames.filter(name => values[name] === undefined)
  const read = Environment.safeParse({ ...values, workers })
  const unknown = set.flatMap(([name]) => {
    const similar = variableNames.includes(name) ? [] : similarNames(name, variableNames, unset)
    return similar.length > 0 ? [unknownVariable(name, similar)] : []
  })
  if (read.success && unknown.length === 0) return read.data
  const invalid = read.error?.issues.map(({ path, message }) =>
    reason('CONFIG_INVALID', { variable: path.join('.'), problem: message }),
  )
  throw new ReasonError([...(invalid ?? []), ...unknown])
}
