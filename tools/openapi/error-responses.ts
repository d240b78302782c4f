import { exportRunningError, tooManyExportsError } from '../../src/domain/record/export-limits.ts'
import { firstFillError } from '../../src/domain/sync/server-time.ts'
import { bodyLimit } from '../../src/http/authenticated.ts'
import { OverloadError, toGatewayError, unavailable } from '../../src/http/errors.ts'
import { tooSlow } from '../../src/http/limits/deadline.ts'
import { invalidHttp, unparsedRequests } from '../../src/http/limits/invalid-http.ts'
import { type RecordedAnswer, toExamples } from './examples.ts'
import { always, describeHeaders, type HeaderName, rateLimitHeaders } from './headers.ts'
import { schemaRef } from './json-schema.ts'
import type { Reference, ResponseObject } from './openapi.ts'

interface ErrorResponse {
  name: string
  description: string
  headers: readonly HeaderName[]
  /** Headers that only some of these responses have. */
  sometimes?: readonly HeaderName[]
  /** Messages that the demo data cannot give. */
  messages?: readonly string[]
}

const limitText = `${bodyLimit / 1024} KiB`

/** The statuses of errors, which every operation can have (contract, Errors; R8, R9, R18). */
const errorResponses: Record<number, ErrorResponse> = {
  400: {
    name: 'BadRequest',
    description: 'The request is not valid HTTP. The connection ends.',
    headers: always,
    messages: [invalidHttp.message],
  },
  401: {
    name: 'Unauthorized',
    description: 'The bearer token is missing, unknown, expired or revoked.',
    headers: [...always, 'WWW-Authenticate'],
  },
  403: {
    name: 'Forbidden',
    description: 'The token lacks the permission of the operation, or is not authorised for the tenant.',
    headers: [...always, ...rateLimitHeaders],
  },
  404: {
    name: 'NotFound',
    description: 'There is no such tenant, or no such record in the scope of the token at this tenant.',
    headers: [...always, ...rateLimitHeaders],
  },
  405: {
    name: 'MethodNotAllowed',
    description: 'The path was requested with another method than those in `Allow`.',
    headers: [...always, ...rateLimitHeaders, 'Allow'],
  },
  408: {
    name: 'RequestTimeout',
    description: 'The request took too long to arrive.',
    headers: always,
    sometimes: rateLimitHeaders,
    messages: [tooSlow().message],
  },
  413: {
    name: 'ContentTooLarge',
    description: `The body is larger than ${limitText}.`,
    headers: [...always, ...rateLimitHeaders],
  },
  415: {
    name: 'UnsupportedMediaType',
    description: 'The body is compressed. Send it without `Content-Encoding`.',
    headers: [...always, ...rateLimitHeaders, 'Accept-Encoding'],
  },
  422: {
    name: 'UnprocessableContent',
    description:
      'The request is not valid: a header, a parameter or the body. `errors` names each field. All fields that are ' +
      'checked together are reported together.',
    headers: [...always, ...rateLimitHeaders],
  },
  429: {
    name: 'TooManyRequests',
    description:
      'The rate limit is exceeded, or a limit of exports. Wait the seconds in `Retry-After`, then repeat the same ' +
      'request: nothing is lost.',
    headers: [...always, 'Retry-After'],
    sometimes: rateLimitHeaders,
    messages: [exportRunningError(1).message, tooManyExportsError(10, 1).message],
  },
  431: {
    name: 'RequestHeaderFieldsTooLarge',
    description: 'The headers or the address are larger than 16 KiB. The connection ends.',
    headers: always,
    messages: [unparsedRequests.HPE_HEADER_OVERFLOW.message],
  },
  500: {
    name: 'InternalServerError',
    description: 'The service failed. Report the `X-Request-Id`.',
    headers: always,
    sometimes: rateLimitHeaders,
    messages: [toGatewayError(new Error()).message],
  },
  503: {
    name: 'ServiceUnavailable',
    description:
      'The service or its database cannot answer at the moment. Wait the seconds in `Retry-After`, then repeat the ' +
      'same request.',
    headers: [...always, 'Retry-After'],
    sometimes: rateLimitHeaders,
    messages: [
      unavailable(null).message,
      new OverloadError().message,
      'This instance of the service stops. Go on with the last cursor in a moment.',
      firstFillError().message,
    ],
  },
}

/** Returns the responses to errors as components of the document, with real answers as examples. */
export function errorComponents(answers: readonly RecordedAnswer[]): Record<string, ResponseObject> {
  const components: Record<string, ResponseObject> = {}
  for (const [status, { name, description, headers, sometimes, messages = [] }] of Object.entries(errorResponses)) {
    const recorded = answers.filter(answer => String(answer.status) === status)
    const examples = [
      ...recorded.map(({ summary, body }) => ({ summary, value: body })),
      ...messages.map(message => ({ summary: message.replace(/\..*/, ''), value: { message } })),
    ]
    components[name] = {
      description,
      headers: describeHeaders(headers, sometimes),
      content: {
        'application/json': {
          schema: schemaRef(status === '422' ? 'ValidationError' : 'MessageError'),
          ...toExamples(examples),
        },
      },
    }
  }
  return components
}

/**
 * Returns references to the responses to errors of an operation, by status.
 *
 * @param hasBody whether the operation takes a body
 */
export function errorReferences(hasBody: boolean): Record<string, Reference> {
  const entries = Object.entries(errorResponses).filter(([status]) => hasBody || !['413', '415'].includes(status))
  return Object.fromEntries(entries.map(([status, { name }]) => [status, { $ref: `#/components/responses/${name}` }]))
}
