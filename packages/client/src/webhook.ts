/** Checks that a webhook comes from the service, by the specification Standard Webhooks, and parses the event. */
import { type Check, id, instant, nullable, object, oneOf, text } from './check.ts'
import { VoucherGatewayError } from './error.ts'
import { isObject, parseJson } from './json.ts'
import { tenantLists } from './reads.ts'

const eventTypesOfLists = ['tenants.changed', ...Object.values(tenantLists).map(({ event }) => event)] as const

/**
 * An event that says that a list of a tenant has changed. It contains no record: read the list at `url`, and its
 * removals.
 */
export interface ListChangedEvent {
  type: (typeof eventTypesOfLists)[number]
  tenant_id: number
  /** The instant from which to read the list and its removals; null when the whole list must be read. */
  updated_since: string | null
  /** All changes up to this instant belong to this event. It becomes the `updated_since` of the list's next event. */
  server_time: string
  /** The address of the list in v1, with `updated_since`. A request to this address needs a token. */
  url: string
}

/** The body of a webhook: an event, or the test message that an administrator sends. */
export type WebhookEvent = ListChangedEvent | { type: 'test' }

/** The headers of a request: `req.headers` of Node, or a `Headers`. */
export type WebhookHeaders = Pick<Headers, 'get'> | { readonly [name: string]: string | readonly string[] | undefined }

/**
 * Checks the signature and the time of a webhook, and returns its event.
 *
 * @param rawBody the bytes of the body as they arrived, because a body that was parsed and written again has another
 * signature
 * @param secrets the secret of the endpoint, `whsec_…`; both secrets while it is rotated
 * @param options.tolerance the maximum difference between the time of the signature and the clock of this machine, in
 * seconds
 * @throws VoucherGatewayError `INVALID_WEBHOOK`: answer 400; `UNKNOWN_EVENT`: answer 204; `BAD_USER_INPUT`: the body is
 * not bytes, or the secret is invalid
 *
 * @example
 * app.post('/webhooks', express.raw({ type: 'application/json' }), async (req, res) => {
 *   const event = await verifyWebhook(req.body, req.headers, process.env.WEBHOOK_SECRET)
 *   await queue.add(event, { id: req.headers['webhook-id'] })
 *   res.sendStatus(204)
 * })
 */
export async function verifyWebhook(
  rawBody: Uint8Array | ArrayBuffer,
  headers: WebhookHeaders,
  secrets: string | readonly string[],
  { tolerance = 300 }: { tolerance?: number | undefined } = {},
): Promise<WebhookEvent> {
  const body = bytesOf(rawBody)
  const keys = [secrets].flat().map(keyOf)
  const messageId = readHeader(headers, 'webhook-id')
  const timestamp = readHeader(headers, 'webhook-timestamp')
  const signatures = readHeader(headers, 'webhook-signature').split(' ')
  requireRecent(timestamp, tolerance)
  const prefix = new TextEncoder().encode(`${messageId}.${timestamp}.`)
  const signed = new Uint8Array(prefix.length + body.length)
  signed.set(prefix)
  signed.set(body, prefix.length)
  if (!(await isSigned(signed, signatures, keys))) {
    throw invalidError(
      'No signature matches. Check the secret of the endpoint, and that the body is the bytes that arrived.',
    )
  }
  const event = parseJson(new TextDecoder().decode(body))
  requireEvent(event)
  return event
}

const invalidError = (message: string) => new VoucherGatewayError(message, { code: 'INVALID_WEBHOOK' })

const usageError = (message: string) => new VoucherGatewayError(message, { code: 'BAD_USER_INPUT' })

function bytesOf(rawBody: unknown): Uint8Array {
  if (ArrayBuffer.isView(rawBody)) return new Uint8Array(rawBody.buffer, rawBody.byteOffset, rawBody.byteLength)
  if (rawBody instanceof ArrayBuffer) return new Uint8Array(rawBody)
  throw usageError(
    'verifyWebhook needs the bytes of the body as they arrived, not a text or a parsed object. In express give the route ' +
      "express.raw({ type: 'application/json' }) and pass req.body. In fastify call app.addContentTypeParser('application/json', " +
      "{ parseAs: 'buffer' }, (request, body, done) => done(null, body)) and pass request.body.",
  )
}

const digit = '[A-Za-z0-9+/]'
const secretForm = new RegExp(`^whsec_((?:${digit}{4})*(?:${digit}{2}==|${digit}{3}=|${digit}{4}))$`)
/** 32 bytes. The last base64 digit ends with two zero bits, so that each signature has only one valid text. */
const signatureForm = new RegExp(`^v1,(${digit}{42}[AEIMQUYcgkosw048]=)$`)

/** Returns the key that a secret contains. Checks the type, because JavaScript code can pass an unset variable. */
function keyOf(secret: unknown): Uint8Array<ArrayBuffer> {
  const [, base64] = secretForm.exec(String(secret)) ?? []
  if (base64 !== undefined) return decode(base64)
  throw usageError(
    'A secret of webhooks is whsec_ and base64. Copy the one that the administrator gave you, unchanged.',
  )
}

const decode = (base64: string) => Uint8Array.from(atob(base64), character => character.charCodeAt(0))

const isHeaders = (headers: WebhookHeaders): headers is Pick<Headers, 'get'> => typeof headers.get === 'function'

/** Returns a header. Some servers keep the case of header names, and some pass each value as an array. */
function readHeader(headers: WebhookHeaders, name: string): string {
  const found = isHeaders(headers)
    ? headers.get(name)
    : Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1]
  if (found) return [found].flat().join(' ')
  throw invalidError(
    `The request has no header ${name}. Pass all headers of the request, and check what proxies remove.`,
  )
}

function requireRecent(timestamp: string, tolerance: number): void {
  if (!/^\d{1,12}$/.test(timestamp))
    throw invalidError('The header webhook-timestamp is no time in seconds. Answer 400.')
  const age = Math.floor(Date.now() / 1000) - Number(timestamp)
  // This is not written with `>`, so that a tolerance of NaN rejects every webhook.
  if (Math.abs(age) <= tolerance) return
  const distance = age > 0 ? `${age} seconds old` : `${-age} seconds ahead`
  throw invalidError(`The webhook is ${distance}. Check the clock of this machine; if it is right, answer 400.`)
}

/**
 * Returns whether at least one signature was made with one of the secrets. Skips other signature versions, such as
 * `v1a`.
 */
async function isSigned(message: BufferSource, signatures: readonly string[], secrets: readonly BufferSource[]) {
  const candidates = signatures.flatMap(each => signatureForm.exec(each)?.[1] ?? []).map(decode)
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash: 'SHA-256' }, false, ['verify'])
    for (const candidate of candidates) {
      // Compares in constant time.
      if (await crypto.subtle.verify('HMAC', key, candidate, message)) return true
    }
  }
  return false
}

const listEvent: Check<ListChangedEvent> = object<ListChangedEvent>({
  type: oneOf(...eventTypesOfLists),
  tenant_id: id,
  updated_since: nullable(instant),
  server_time: instant,
  url: text,
})

function requireEvent(value: unknown): asserts value is WebhookEvent {
  if (isObject(value) && value.type === 'test') return
  const problem = listEvent(value)
  if (problem === null) return
  if (isObject(value) && typeof value.type === 'string' && problem.startsWith('.type ')) {
    const message = `This version of the client does not know events of the type ${value.type}: answer 204, or update it.`
    throw new VoucherGatewayError(message, { code: 'UNKNOWN_EVENT' })
  }
  const field = problem.replace(/^\./, '').replace(/^ /, 'the body ')
  throw invalidError(`The webhook is signed, but is no event: ${field}. Answer 400, and report it to the service.`)
}
