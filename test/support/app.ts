import type { FastifyInstance, InjectOptions } from 'fastify'
import { expect } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { isOutage } from '../../src/db/connection/outage.ts'
import type { Pool } from '../../src/db/sql.ts'
import type { LogDestination } from '../../src/log.ts'
import { buildServer } from '../../src/server.ts'
import { checkAnswers, decode, toTexts } from './check-answers.ts'
import { afterFile } from './cleanups.ts'
import { undocumentedMessages } from './documented-errors.ts'
import { projected } from './projected.ts'

export interface Answer {
  status: number
  headers: Record<string, string | undefined>
  /** The bytes of the body, which may be compressed. */
  bytes: Buffer
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: tests read bodies of every shape
  body: any
}

/** Returns the code of the first GraphQL error; undefined for an answer without errors. */
export const codeOf = ({ body }: Answer): string | undefined => body.errors?.[0].extensions.code

/** Returns the number of quota units that are left in the window. */
export const remainingOf = ({ headers }: { headers: Record<string, unknown> }) => Number(headers['ratelimit-remaining'])

export const v1 = '/api/external/v1'

/** Returns a text unchanged, and any other value as JSON. */
const textOf = (body: unknown) => (typeof body === 'string' ? body : JSON.stringify(body))

type Demo = { demoToken?: string | null; demoPlatform?: string | null }

/**
 * Starts the service on the database of a test, and closes it after the tests of the file. The default rate limit is
 * high.
 *
 * @param given.demoToken starts the demo with this token; `given.demoPlatform` adds a till to the demo
 */
export async function createApp(
  { pool, demoToken = null, demoPlatform = null }: { pool: Pool } & Demo,
  environment: NodeJS.ProcessEnv = {},
  log?: LogDestination,
) {
  const config = readConfig({ LOG_LEVEL: 'silent', RATE_LIMIT_PER_MINUTE: '100000', ...environment })
  const app = await buildServer({ config, pool, log, demoToken, demoPlatform })
  checkAnswers(app)
  afterFile(() => app.close())
  return createClient(app, pool)
}

/** @param pool the database on which steps run before each request; by default only the service runs steps */
export function createClient(app: FastifyInstance, pool?: Pool) {
  let latest = Promise.resolve()
  let next: Promise<void> | undefined
  /**
   * Runs the steps once for all requests that are sent in the same turn, so that these requests still arrive together.
   */
  function makeSteps(sql: Pool): Promise<void> {
    next ??= latest = latest.then(() => {
      next = undefined
      return projected(sql).catch(error => {
        // A failed step is ignored, because the test checks how the service answers during an outage of the database.
        if (!isOutage(error)) throw error
      })
    })
    return next
  }

  async function ask(options: InjectOptions): Promise<Answer> {
    if (pool) await makeSteps(pool)
    const { statusCode: status, headers, rawPayload: bytes } = await app.inject(options)
    const text = decode(bytes, headers)
    let body: unknown
    try {
      body = JSON.parse(text)
    } catch {
      body = undefined
    }
    expect(undocumentedMessages(body), 'messages that docs/guides/errors.md lacks').toEqual([])
    return { status, headers: toTexts(headers), bytes, text, body }
  }

  /** Sends a body to `/graphql`: a text unchanged, any other value as JSON. */
  const post = (secret: string, body: unknown, headers: Record<string, string> = {}) =>
    ask({
      method: 'POST',
      url: '/graphql',
      headers: {
        accept: 'application/graphql-response+json, application/json',
        authorization: `Bearer ${secret}`,
        'content-type': 'application/json',
        ...headers,
      },
      payload: textOf(body),
    })

  /** Sends a v1 request with a token and the required headers; `path` is relative to the base path. */
  const rest = (secret: string, path: string, options: Omit<InjectOptions, 'url' | 'path'> = {}) => {
    const headers = { accept: 'application/json', authorization: `Bearer ${secret}`, ...options.headers }
    return ask({ method: 'GET', ...options, url: v1 + path, headers })
  }

  return {
    ...{ app, ask, rest, post },

    resolve: (secret: string, tenantId: number, body: unknown) =>
      rest(secret, `/tenants/${tenantId}/redemptions/resolve`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        payload: textOf(body),
      }),

    graphql: (secret: string, query: string, variables: Record<string, unknown> = {}) =>
      post(secret, { query, variables }),

    /** Sends a GraphQL request whose answer must have no errors. @returns its data */
    async read(secret: string, query: string, variables: Record<string, unknown> = {}) {
      const { body } = await post(secret, { query, variables })
      expect(body.errors).toBeUndefined()
      return body.data
    },
  }
}

export type Client = Awaited<ReturnType<typeof createApp>>
