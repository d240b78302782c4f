import { rateWindowSeconds } from '../../src/domain/rate/rate.ts'
import type { JsonSchema } from './json-schema.ts'
import type { Header, Reference } from './openapi.ts'

const count: JsonSchema = { type: 'integer', minimum: 0 }
const seconds: JsonSchema = { type: 'integer', minimum: 1 }

/** Returns the schema of one text. */
export const constant = (value: string): JsonSchema => ({ type: 'string', const: value })

/** Describes a header that each response has. */
export const header = (description: string, schema: JsonSchema, example?: unknown): Header => ({
  description,
  required: true,
  schema,
  ...(example !== undefined && { example }),
})

/** The headers of responses, by name (R8, R17, R29). */
const headers = {
  'X-Request-Id': header(
    'Identifies the request in our logs: quote it when you ask us. It is the one that you sent, or a new UUID.',
    { type: 'string', pattern: '^[A-Za-z0-9._-]{1,128}$' },
    '0b7a1f8e-3f0e-4c7e-9c53-2f1d5a3b8f10',
  ),
  'Cache-Control': header('No cache may keep the response.', constant('private, no-store')),
  'RateLimit-Limit': header(`The operations that a window of ${rateWindowSeconds} seconds allows.`, count, 120),
  'RateLimit-Remaining': header('The operations that are left in this window.', count, 118),
  'RateLimit-Reset': header('Seconds until the window ends.', { ...seconds, maximum: rateWindowSeconds }, 42),
  'Retry-After': header('Seconds to wait before you repeat the same request.', seconds, 42),
  Allow: header('The method of this path.', { type: 'string', enum: ['GET', 'POST'] }),
  'Accept-Encoding': header('How a body may be encoded: not at all.', constant('identity')),
  'WWW-Authenticate': header('The scheme of the expected token.', constant('Bearer')),
  Vary: { ...header('There when the response could be compressed.', constant('Accept-Encoding')), required: false },
  'Content-Encoding': {
    ...header('How the response is compressed, as `Accept-Encoding` asked.', { type: 'string', enum: ['br', 'gzip'] }),
    required: false,
  },
} as const satisfies Record<string, Header>

/** The name of a header of responses. */
export type HeaderName = keyof typeof headers

/** The headers of every response (R17). */
export const always: readonly HeaderName[] = ['X-Request-Id', 'Cache-Control']

/** The headers of responses to counted requests (R29). */
export const rateLimitHeaders: readonly HeaderName[] = ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset']

const componentName = (name: string) => name.replaceAll('-', '')

/** The headers as components of the document. */
export const headerComponents: Record<string, Header> = Object.fromEntries(
  Object.entries(headers).map(([name, described]) => [componentName(name), described]),
)

/**
 * Describes the headers of a response.
 *
 * @param sometimes the headers that only some of these responses have
 */
export function describeHeaders(
  names: readonly HeaderName[],
  sometimes: readonly HeaderName[] = [],
): Record<string, Header | Reference> {
  return {
    ...Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${componentName(name)}` }])),
    ...Object.fromEntries(sometimes.map(name => [name, { ...headers[name], required: false }])),
  }
}
