import { gzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { trimInvisible } from '../../src/domain/trimmed.ts'
import { bearer, createWorld, faultyFields, flawOf, operations, perform, worldReference } from './support.ts'

const { client, build, secret, tenantId, place, pool } = await createWorld()
const resolve = (body: unknown) => client.resolve(secret, tenantId, body)
const qr = 'QR/42 é'
const qrVoucher = await build.voucher(tenantId, { qr_token: qr, reference: 'Ref-Ünï 7' })
const edged = await build.voucher(tenantId, { reference: '\ufeffEdge-ß\u00a0', qr_token: '\u200bZm9v+YmFy8==\r' })
const both = ['qr_token', 'voucher_reference']

/** Sends bytes as the body of a resolution. */
const send = (payload: Buffer, headers = {}) =>
  perform(client, operations.at(-1)!, place, { ...bearer(secret), ...headers }, { payload })

test.each<[string, string, string[]]>([
  ['nothing', '', ['body']],
  ['no JSON', '{"voucher_reference":', ['body']],
  ['an array', '[{"voucher_reference":"WORLD-1"}]', ['body']],
  ['a string', '"WORLD-1"', ['body']],
  ['null', 'null', ['body']],
  ['a very deep array', '['.repeat(60_000), ['body']],
  ['nulls', '{"qr_token":null,"voucher_reference":null}', both],
  ['nothing that is visible', '{"qr_token":"\\u200b\\u0000","voucher_reference":"\\ufeff\\u3000\\u0085"}', both],
  ['other names', '{"reference":"WORLD-1","qrToken":"x","voucherReference":"x"}', both],
  ['both', '{"qr_token":"x","voucher_reference":"WORLD-1"}', both],
  ['a number as token', '{"qr_token":5}', ['qr_token']],
  ['an array as reference', '{"voucher_reference":["WORLD-1"]}', ['voucher_reference']],
  ['false and a reference', '{"qr_token":false,"voucher_reference":"WORLD-1"}', ['qr_token']],
  ['both too long', JSON.stringify({ qr_token: 'q'.repeat(2049), voucher_reference: 'r'.repeat(256) }), both],
])('the body %s is 422 with errors of the fields', async (_, body, fields) => {
  const answer = await resolve(body)
  expect(flawOf(answer, 422)).toBeNull()
  expect(faultyFields(answer)).toEqual(fields)
})

test.each<[string, object]>([
  ['in any case', { voucher_reference: 'world-1' }],
  ['with invisible edges', { voucher_reference: '\ufeff\u2028\u200f WORLD-1\r\n\u00a0\u0000\u009f\u2060' }],
  ['with a null', { voucher_reference: worldReference, qr_token: null }],
  ['with a blank', { voucher_reference: worldReference, qr_token: '  ' }],
  ['with unknown fields', { voucher_reference: worldReference, tenant: 5, constructor: 1, extra: { deep: [] } }],
])('a reference %s is found', async (_, body) => {
  const { status, body: answer } = await resolve(body)
  expect([status, answer.data.voucher.reference]).toEqual([200, worldReference])
})

test('a stored text with invisible edges is found with and without these edges', async () => {
  const references = ['\ufeffEdge-ß\u00a0', 'Edge-ß', 'EDGE-SS', '\tedge-ẞ\u200d']
  for (const voucher_reference of references) {
    expect((await resolve({ voucher_reference })).body.data?.voucher.id, voucher_reference).toBe(edged)
  }
  for (const qr_token of ['\u200bZm9v+YmFy8==\r', 'Zm9v+YmFy8==', '\r\nZm9v+YmFy8==\u00a0']) {
    expect((await resolve({ qr_token })).body.data?.voucher.id, qr_token).toBe(edged)
  }
  expect((await resolve({ qr_token: 'zm9v+YmFy8==' })).status).toBe(404)
})

test('the service and the database agree on blank characters, and no letter is blank', async () => {
  const rows = await pool<{ code: number }[]>`
    select code from generate_series(1, 65535) code
    where code not between 55296 and 57343 and gateway.trimmed(chr(code)) is null`
  const blank = new Set(rows.map(({ code }) => code))
  for (let code = 1; code < 65536; code++) {
    const character = String.fromCharCode(code)
    const isBlank = trimInvisible(character) === ''
    const isSpace = /[\p{White_Space}\p{Cc}\ufeff\u200b-\u200f\u202a-\u202e\u2060-\u2064]/u.test(character)
    const isShown = /[\p{L}\p{N}\p{P}\p{S}]/u.test(character) && !/\p{Default_Ignorable_Code_Point}/u.test(character)
    const isRight = isBlank === blank.has(code) && !(isSpace && !isBlank) && !(isShown && isBlank)
    if (!isRight) expect.fail(`U+${code.toString(16)}`)
  }
})

test('a body may contain the key __proto__ and any Unicode text', async () => {
  expect((await resolve(`{"__proto__":{"qr_token":"x"},"voucher_reference":"${worldReference}"}`)).status).toBe(200)
  expect((await resolve({ voucher_reference: 'ref-üNÏ 7' })).body.data.voucher.id).toBe(qrVoucher)
})

const unknown = ['WORLD\0-1', 'WORLD\u200b-1', '\ud800', '\\', '%', "' or true --", 'W%', 'undefined']
test.each(unknown)('a reference or QR token that no voucher has is 404: %j', async text => {
  expect(flawOf(await resolve({ voucher_reference: text }), 404)).toBeNull()
  expect(flawOf(await resolve({ qr_token: text }), 404)).toBeNull()
  const url = `https://x.example/v?${new URLSearchParams({ token: text })}`
  expect(flawOf(await resolve({ qr_token: url }), 404)).toBeNull()
})

test('a body of one byte more than 64 KiB is 413', async () => {
  const sized = (length: number) => {
    const body = { voucher_reference: worldReference, padding: '' }
    return JSON.stringify({ ...body, padding: 'x'.repeat(length - JSON.stringify(body).length) })
  }
  expect((await resolve(sized(64 * 1024))).status).toBe(200)
  for (const length of [64 * 1024 + 1, 2_000_000]) expect(flawOf(await resolve(sized(length)), 413)).toBeNull()
})

test('a body with a byte order mark is read, and a body with a Content-Encoding is 415', async () => {
  const marked = await resolve(`\ufeff${JSON.stringify({ voucher_reference: worldReference })}`)
  expect([marked.status, marked.body.data.voucher.reference]).toEqual([200, worldReference])
  const body = gzipSync(JSON.stringify({ voucher_reference: worldReference }))
  const ask = (coding: string, payload = body) => send(payload, { 'content-encoding': coding })
  const refused = await ask('gzip')
  expect(flawOf(refused, 415)).toBeNull()
  expect(refused.headers['accept-encoding']).toBe('identity')
  expect(refused.body.message).toBe('Send the body as it is, without the header Content-Encoding.')
  expect((await ask('identity')).status).toBe(422)
  expect((await ask('gzip', Buffer.alloc(0))).status).toBe(422)
})

test('a body with invalid UTF-8 is answered with 404', async () => {
  expect(flawOf(await send(Buffer.from('{"voucher_reference":"\xff\xfe"}', 'latin1')), 404)).toBeNull()
})

const spaced = await build.voucher(tenantId, { qr_token: 'a b' })
const plus = await build.voucher(tenantId, { qr_token: 'a+b' })
const encoded = encodeURIComponent(qr)
test.each([
  qr,
  ...['qr_token', 'token', 'qr', 't', 'code'].map(name => `https://x.example/a/b?x=1&${name}=${encoded}&y=2`),
  `HTTP://X.EXAMPLE/?T=no&t=${encoded}`,
  `https://x.example/?code=wrong&t=wrong&qr=wrong&token=wrong&qr_token=${encoded}`,
  `https://x.example/?code=${encoded}&qr_token=&token=%20%EF%BB%BF`,
  `https://x.example/${encoded}/%E2%80%8B/%0D`,
  `https://user:pw@x.example:8443/wrong?code=wrong&token=${encoded}`,
  'https://x.example/?token=QR/42+%C3%A9',
  `https://x.example/redeem/${encoded}///?x=1#wrong`,
  `\ufeff https://x.example/${encoded}?other=wrong\u00a0\r`,
  ` ${qr}\n`,
])('a QR token is found in %s', async text => {
  const { status, body } = await resolve({ qr_token: text })
  expect([status, body.data?.voucher.id]).toEqual([200, qrVoucher])
})

test.each([
  qr.toLowerCase(),
  `https://x.example/?token=wrong&t=${encoded}`,
  `https://x.example/?TOKEN=${encoded}`,
  ...[`${encoded}/wrong`, `#${encoded}`, '', '%zz', '%00'].map(end => `https://x.example/${end}`),
  `ftp://x.example/${encoded}`,
  `javascript:alert("${encoded}")`,
  ...['https://', 'https://%zz/', 'http://[::1', worldReference],
])('a QR token is matched exactly, and not found in %s', async text => {
  expect(flawOf(await resolve({ qr_token: text }), 404)).toBeNull()
})

test.each([
  ['?qr_token=Zm9v%2BYmFy8==', edged],
  ['?qr_token=Zm9v+YmFy8==', edged],
  ['Zm9v+YmFy8==', edged],
  // The voucher that matches the form-decoded text has priority.
  ['?token=a+b', spaced],
  ['?token=a%2Bb', plus],
  ['?token=a%20b', spaced],
])('a QR token with a plus or a space is found in the URL %s', async (end, wanted) => {
  expect((await resolve({ qr_token: `https://x.example/${end}` })).body.data?.voucher.id).toBe(wanted)
})

test('a QR token is not accepted as a reference, and is not in the answer', async () => {
  expect((await resolve({ voucher_reference: qr })).status).toBe(404)
  expect((await resolve({ qr_token: qr })).text).not.toContain(JSON.stringify(qr))
})
