import { z } from 'zod'
import {
  addressRanges,
  contacts,
  databaseUrl,
  databaseUrls,
  domains,
  flag,
  integer,
  key,
  oneOf,
  origin,
  privateKeys,
  privateUrl,
  redisUrl,
  requestLog,
  words,
} from './values.ts'

/**
 * The variables of the service. Each description becomes a paragraph of `.env.example` and a row of
 * `docs/installing.md`, which add the values of a number or of a choice. A default is the text of the variable.
 */
export const variables = z.object({
  NODE_ENV: oneOf(['development', 'production', 'test'])
    .prefault('development')
    .describe(
      'The kind of installation. With production, DATABASE_URL must be set, and by default GRAPHIQL is off and SHUTDOWN_DELAY is 5.',
    ),

  HOST: z.string().prefault('127.0.0.1').describe('The address on which the service listens.'),

  PORT: integer(0, 65535).prefault('8080').describe('The port on which the service listens. 0 takes any free port.'),

  HEALTH_PORT: integer(1, 65535)
    .optional()
    .describe(`The port of /livez and /readyz, on the same HOST. Without it they are at PORT; with it they are at this
      port only.`),

  METRICS_PORT: integer(1, 65535)
    .optional()
    .describe(`The port of /metrics for Prometheus, on the same HOST (docs/metrics.md). Without it there are no metrics. With
      --workers it has the metrics of all workers. A link of Kubernetes to a service "metrics" (tcp://…) counts as not set.`),

  SHUTDOWN_DELAY: integer(0, 300)
    .optional()
    .describe(`How long the service still accepts connections after SIGTERM, in seconds, while /readyz is 503 and each
      answer closes its connection. It must be longer than load balancers need to notice. Default: 0, and 5 when NODE_ENV is
      production.`),

  MAX_REQUESTS: integer(10, 100_000)
    .prefault('160')
    .describe(`The most requests of REST and GraphQL under way; of one operation three quarters of that. Further requests
      get 503 with Retry-After.`),

  DATABASE_URL: databaseUrl
    .optional()
    .describe(`The database (PostgreSQL 15 or later), for example postgres://user:password@host:5432/database. Without it
      the service starts an embedded server with its data in DATA_DIR, unless NODE_ENV is production. With it the service never migrates and
      never loads demo data by itself.`),

  DATABASE_REPLICA_URLS: databaseUrls
    .default([])
    .describe(`Streaming standbys of DATABASE_URL, separated by commas. Lists, records, exports, searches and figures are read
      from the standbys that keep up, and answers are as new as from the primary (docs/scaling.md).`),

  DATABASE_POOL: integer(1, 1000).prefault('10').describe('The most connections to the database for requests.'),

  DATABASE_STARTUP_PARAMETERS: flag
    .prefault('on')
    .describe(`Whether connections set their role and their limits as they start. Behind a pooler that refuses such
      parameters turn it off, and let the pooler or the login set them (docs/scaling.md).`),

  PLATFORM_URL: databaseUrl
    .optional()
    .describe(`The database of a platform on another server, whose changes are replicated into DATABASE_URL
      (docs/adopting.md).`),

  DATA_DIR: z.string().prefault('.data').describe('The directory of the embedded server, and of its demo data.'),

  RATE_STORE: oneOf(['memory', 'postgres', 'redis'])
    .optional()
    .describe(`Where the rate of a token is counted. Several instances must set postgres, or REDIS_URL: with memory, a token
      may use its limit at each instance. Default: redis with REDIS_URL; otherwise postgres with
      --workers, and memory without.`),

  REDIS_URL: redisUrl
    .optional()
    .describe(
      'A Redis (7 or later, or Valkey) in which rates are counted, for example redis://user:password@host:6379/0.',
    ),

  TRUST_PROXY: addressRanges
    .default([])
    .describe(`Proxies whose X-Forwarded-For is trusted: addresses and CIDR ranges, separated by commas. Behind a proxy
      that it does not name, all callers have the address of the proxy: they share the limits of that address, including
      the limit of failed sign-ins. A log line says so, and also reports a trusted proxy that forwards no address (\`unknown\`).
      A forwarded address may have brackets, a port or quotation marks.`),

  RATE_LIMIT_PER_MINUTE: integer(1, 1_000_000)
    .prefault('120')
    .describe('Operations per minute for each pair of token and address.'),

  EXPORTS_PER_HOUR: integer(1, 1_000_000)
    .prefault('10')
    .describe('How many bulk exports a token may start in an hour.'),

  REDEMPTION_TOKEN_TTL: integer(1, 86_400).prefault('900').describe('The lifetime of redemption tokens, in seconds.'),

  REDEMPTION_AUDIENCE: z
    .string()
    .regex(/^[\x21-\x7e]{1,50}$/, 'must have 1 to 50 characters of ASCII without spaces, for example redemption')
    .prefault('redemption')
    .describe(`The audience (aud) of redemption tokens: what the redemption calls itself. Their issuer (iss) is PUBLIC_URL,
      and without it http://localhost with PORT.`),

  REDEMPTION_KEYS: privateKeys
    .optional()
    .describe(`The private keys of redemption tokens, each 64 hexadecimal digits, separated by commas. The first one signs, and
      /.well-known/jwks.json publishes all of them (docs/maintaining.md). Default: the service makes a key and stores it in the
      database.`),

  WEBHOOK_KEY: key
    .optional()
    .describe(`The key from which the secrets of webhooks are derived, 64 hexadecimal digits. Another key gives all endpoints
      other secrets. Default: the service makes a key and stores it in the database.`),

  WEBHOOK_NETWORKS: addressRanges
    .default([])
    .describe(`Networks to which webhooks may be sent although their addresses are not public: addresses and CIDR ranges,
      separated by commas, for example 10.20.0.0/16. The certificates of such receivers must be valid: NODE_EXTRA_CA_CERTS names
      a file with further authorities.`),

  CURSOR_KEY: key
    .optional()
    .describe(`The key that encrypts cursors, 64 hexadecimal digits. Default: the service makes a key and stores it in the
      database.`),

  LOG_LEVEL: oneOf(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
    .prefault('info')
    .describe('The lowest level that is logged.'),

  LOG_REQUESTS: requestLog
    .prefault('errors')
    .describe(`Which requests have a line in the log: all, errors (refused, failed or aborted requests),
      sample:0.01 (these and a hundredth of the others; any share up to 1) or off.`),

  GRAPHIQL: flag.optional().describe('Whether /graphiql exists. Default: on, and off when NODE_ENV is production.'),

  GRAPHQL_DOCUMENTS: oneOf(['any', 'trusted'])
    .prefault('any')
    .describe(`Which GraphQL documents run. With any, each document runs; with trusted, only trusted documents, which
      requests name by the SHA-256 of their text (documentId). Documents of the service's own pages are trusted.`),

  GRAPHQL_DOCUMENTS_PATH: z
    .string()
    .optional()
    .describe(`A file or a directory with more trusted documents: .graphql files, or .json manifests.`),

  COMPRESSION: flag
    .optional()
    .describe(`Whether responses of REST and GraphQL are compressed when the client accepts it. Default: on, and off when
      TRUST_PROXY names a proxy, which can compress them. Turn it off behind any other proxy that compresses.`),

  PUBLIC_URL: origin
    .optional()
    .describe(`The origin under which people reach the service, for example https://gateway.example.com. The links of
      \`admin create\` begin with it. Without it the API access page (/admin) works on this machine only, and not through
      a proxy. For a container with a mapped port: http://localhost:8080, with that port; the page then works under this
      origin only. Behind a proxy also set TRUST_PROXY: otherwise twenty failed sign-ins in 15 minutes block all
      sign-ins.`),

  SECURITY_CONTACT: contacts
    .default([])
    .describe(`The contacts for reports of a weakness of the service: e-mail addresses and https:// URLs, separated by commas or
      spaces, the preferred one first. /.well-known/security.txt (RFC 9116) names them. Default: the service has no such
      file.`),

  OIDC_ISSUER: privateUrl
    .optional()
    .describe(`An OpenID provider for the sign-in of administrators, for example https://login.example.com. Register
      /admin/login/callback below PUBLIC_URL at the provider.`),

  OIDC_CLIENT_ID: z.string().optional().describe('The name of the service at the provider.'),

  OIDC_CLIENT_SECRET: z.string().optional().describe('The secret of the service at the provider.'),

  OIDC_DOMAINS: domains
    .default([])
    .describe(`Who may sign in: domains of verified e-mail addresses, separated by commas.
      OIDC_ISSUER needs OIDC_DOMAINS or OIDC_GROUPS.`),

  OIDC_GROUPS: words.default([]).describe('Who may sign in: groups, separated by commas.'),

  OIDC_GROUPS_CLAIM: z.string().prefault('groups').describe('The claim of the provider that lists the groups.'),
})

export const variableNames = Object.keys(variables.shape)
