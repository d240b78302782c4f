import { readFileSync } from 'node:fs'
import { METHODS } from 'node:http'
import { brotliDecompressSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { bearer, createWorld, flawOf } from '../rest/support.ts'

const { client, build, tenantId, secret } = await createWorld()
const url = '/api/external/v1/openapi.json'
const file = readFileSync('schema/openapi.v1.json', 'utf8')
const get = (headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  client.ask({ method, url, headers })

test('is the file of the repository, for a request without any header', async () => {
  const { status, headers, text } = await get()
  expect([status, text]).toEqual([200, file])
  expect(headers).toMatchObject({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'public, no-cache',
    'access-control-allow-origin': '*',
    'x-request-id': expect.stringMatching(/./),
  })
  expect(headers).not.toHaveProperty('ratelimit-limit')
})

test('is the same with any token, and by HEAD without a body', async () => {
  expect((await get(bearer('nonsense'))).status).toBe(200)
  const { status, headers, text } = await get({}, 'HEAD')
  expect([status, text]).toEqual([200, ''])
  expect(headers.etag).toBe((await get()).headers.etag)
})

test('is not sent again to a client that has it', async () => {
  const { etag = '' } = (await get()).headers
  for (const tags of [etag, `"a", ${etag}`, etag.replace('W/', ''), '*']) {
    const { status, text, headers } = await get({ 'if-none-match': tags })
    expect([status, text, headers.etag, headers.vary], tags).toEqual([304, '', etag, 'Accept-Encoding'])
  }
  expect((await get({ 'if-none-match': '"a"' })).status).toBe(200)
})

test('is compressed as asked', async () => {
  const { headers, rawPayload } = await client.app.inject({ url, headers: { 'accept-encoding': 'br' } })
  expect(headers).toMatchObject({ 'content-encoding': 'br', vary: 'Accept-Encoding' })
  expect(brotliDecompressSync(rawPayload).toString()).toBe(file)
})

test('other methods are refused after the token check, and count', async () => {
  for (const method of METHODS.filter(name => !['GET', 'HEAD', 'CONNECT'].includes(name))) {
    const ask = (headers: Record<string, string>) => client.ask({ method: method as 'POST', url, headers })
    expect(flawOf(await ask({}), 401), method).toBeNull()
    const answer = await ask(bearer(secret))
    expect(flawOf(answer, 405), method).toBeNull()
    expect(answer.headers.allow, method).toBe('GET, HEAD')
  }
  const slow = await build.token([tenantId], { rateLimit: 1 })
  const post = () => client.ask({ method: 'POST', url, headers: bearer(slow.secret) })
  expect([(await post()).status, (await post()).status]).toEqual([405, 429])
})
