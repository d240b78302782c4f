import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { bearer, createWorld, flawOf } from '../rest/support.ts'

const { client, build, tenantId } = await createWorld()
const url = '/api/external/v1/openapi.json'
const file = readFileSync('schema/openapi.v1.json', 'utf8')
const get = (headers: Record<string, string> = {}, method: 'GET' | 'HEAD' = 'GET') =>
  client.ask({ method, url, headers })

test('GET without any header returns the document of the repository, and HEAD returns no body', async () => {
  const { status, headers, text } = await get()
  expect([status, text]).toEqual([200, file])
  expect(headers).toMatchObject({ 'cache-control': 'public, no-cache', 'access-control-allow-origin': '*' })
  expect(headers).not.toHaveProperty('ratelimit-limit')
  const head = await get(bearer('nonsense'), 'HEAD')
  expect([head.status, head.text, head.headers.etag]).toEqual([200, '', headers.etag])
})

test('the document is not sent again to a client that has the same ETag', async () => {
  const { etag = '' } = (await get()).headers
  for (const tags of [etag, `"a", ${etag}`, etag.replace('W/', ''), '*']) {
    const { status, text, headers } = await get({ 'if-none-match': tags })
    expect([status, text, headers.etag, headers.vary], tags).toEqual([304, '', etag, 'Accept-Encoding'])
  }
  expect((await get({ 'if-none-match': '"a"' })).status).toBe(200)
})

test('other methods are refused after the token check, and count against the rate limit', async () => {
  const { secret } = await build.token([tenantId], { rateLimit: 1 })
  const post = (headers: Record<string, string>) => client.ask({ method: 'POST', url, headers })
  expect(flawOf(await post({}), 401)).toBeNull()
  const refused = await post(bearer(secret))
  expect([flawOf(refused, 405), refused.headers.allow]).toEqual([null, 'GET, HEAD'])
  expect((await post(bearer(secret))).status).toBe(429)
})
