/** Creates errors from unsuccessful answers of v1 and from GraphQL responses. */
import { VoucherGatewayError } from './error.ts'
import { isObject, parseJson } from './json.ts'

/** An answer whose body has arrived completely. */
export interface Answer {
  body: unknown
  requestId: string
  headers: Headers
}

/**
 * Returns the error of an unsuccessful answer. The message comes from the body when the service, not a proxy, sent it.
 */
export function errorOf(status: number, text: string, headers: Headers, requestId: string): VoucherGatewayError {
  if (status < 400) {
    const message = `The address redirects${headers.has('location') ? ` to ${headers.get('location')}` : ''}. Use that one.`
    return new VoucherGatewayError(message, { status, requestId })
  }
  const body = parseJson(text)
  if (isObject(body) && Array.isArray(body.errors)) return graphqlErrorOf(body.errors[0], status, headers, requestId)
  const message = isObject(body) && typeof body.message === 'string' ? body.message : `The answer has status ${status}.`
  const fieldErrors = isObject(body) ? toFieldErrors(body.errors) : undefined
  return new VoucherGatewayError(message, {
    status,
    fieldErrors,
    requestId,
    retryAfter: readSeconds(headers, 'retry-after'),
  })
}

/**
 * Returns the error of a GraphQL response. A field error has status 200, and the time to wait is in `RateLimit-Reset`.
 */
function graphqlErrorOf(error: unknown, status: number, headers: Headers, requestId: string) {
  const { message, extensions } = isObject(error) ? error : {}
  const { code, errors } = isObject(extensions) ? extensions : {}
  const reset = code === 'RATE_LIMITED' ? readSeconds(headers, 'ratelimit-reset') : undefined
  return new VoucherGatewayError(typeof message === 'string' ? message : 'The GraphQL request failed.', {
    status,
    code: typeof code === 'string' ? code : undefined,
    fieldErrors: toFieldErrors(errors),
    requestId,
    retryAfter: readSeconds(headers, 'retry-after') ?? reset,
  })
}

/** Throws the first error of a GraphQL response with status 200. */
export function throwFirstError({ body, headers, requestId }: Answer): void {
  if (isObject(body) && Array.isArray(body.errors)) throw graphqlErrorOf(body.errors[0], 200, headers, requestId)
}

/** Returns the field errors of a body. Leaves out entries that are not lists of texts. */
function toFieldErrors(value: unknown): Record<string, string[]> | undefined {
  if (!isObject(value)) return undefined
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, texts]) => (Array.isArray(texts) ? [[name, texts.map(String)]] : [])),
  )
}

/**
 * Returns the number of seconds in a header. A proxy may send fractions, or a date in Retry-After (RFC 9110 §10.2.3).
 *
 * @returns undefined for any other text, which `Date.parse` may read as a time: `-5`, or `0, 120` of two proxies
 */
function readSeconds(headers: Headers, name: string): number | undefined {
  const text = headers.get(name)
  if (text && /^\d+(\.\d+)?$/.test(text)) return Number(text)
  const seconds = text?.endsWith(' GMT') ? (Date.parse(text) - Date.now()) / 1000 : Number.NaN
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}
