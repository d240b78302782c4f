import { describe, expect, test } from 'vitest'
import { flawOf, operations } from '../rest/support.ts'
import { createApp } from '../support/app.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const { client, database } = await startService()

// The first request imports GraphiQL, which takes seconds on a busy machine.
await until('GraphiQL is loaded', async () => (await client.ask({ url: '/graphiql' })).status === 200, 60_000)

const chromium = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

const get = (headers: Record<string, string> = {}, { ask } = client) =>
  ask({ method: 'GET', url: '/', headers: { accept: chromium, host: 'localhost:8080', ...headers } })

const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, '').replaceAll('&quot;', '"')

describe('GET /', () => {
  const html = [chromium, 'text/html', 'TEXT/HTML;q=0.1, application/json', 'application/json, text/html;charset=utf-8']
  test.each(html)('is a page for Accept: %s', async accept => {
    const { status, headers, text } = await get({ accept })
    expect(status).toBe(200)
    expect(headers['content-type']).toBe('text/html; charset=utf-8')
    expect(text).toMatch(/^<!doctype html><html lang="en">/)
    expect(headers.vary).toBe('Accept')
  })

  const neither = ['application/json', 'text/html;q=0, application/json', 'text/plain;q=0', 'text/htmlx', '', ';;,']
  test.each(neither)('is an unknown path for Accept: %s', async accept => {
    const answer = await get({ accept })
    expect(flawOf(answer, 404)).toBeNull()
    expect(answer.headers.vary).toBe('Accept')
  })

  const plain = ['*/*', 'text/*', 'text/plain', 'application/json, */*;q=0.1', undefined]
  test.each(plain)('is its links as text for Accept: %s', async accept => {
    const headers = { host: 'localhost:8080', ...(accept !== undefined && { accept }) }
    const { status, headers: answered, text } = await client.ask({ method: 'GET', url: '/', headers })
    expect([status, answered['content-type'], answered.vary]).toEqual([200, 'text/plain; charset=utf-8', 'Accept'])
    const links = [...text.matchAll(/^(\w.*?) +(http\S+)$/gm)].map(
      ([, name, link = '']) => [name, new URL(link)] as const,
    )
    expect(links.map(([name]) => name)).toEqual([
      ...['Dashboard', 'GraphiQL', 'Docs', 'API access', 'REST v1', 'OpenAPI', 'GraphQL'],
    ])
    for (const [name, { origin, pathname }] of links) {
      expect(origin).toBe('http://localhost:8080')
      if (name === 'REST v1' || name === 'GraphQL') continue
      expect(
        (await client.ask({ method: 'GET', url: pathname, headers: { host: 'localhost:8080' } })).status,
      ).toBeLessThan(400)
    }
  })

  test('is an unknown path for other methods than GET and HEAD', async () => {
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'] as const) {
      expect(flawOf(await client.ask({ method, url: '/', headers: { accept: chromium } }), 404), method).toBeNull()
    }
    const head = await client.ask({ method: 'HEAD', url: '/', headers: { accept: chromium } })
    expect(head).toMatchObject({ status: 200, text: '', headers: { 'content-type': 'text/html; charset=utf-8' } })
  })

  test('has the headers of every response, and loads nothing but files of the service', async () => {
    const { headers, text } = await get({ 'x-request-id': 'from-me' })
    expect(headers['x-request-id']).toBe('from-me')
    expect(headers['cache-control']).toBe('private, no-store')
    expect(headers['x-content-type-options']).toBe('nosniff')
    expect(headers['content-security-policy']?.split('; ').sort()).toEqual([
      "base-uri 'none'",
      "connect-src 'self'",
      "default-src 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "img-src 'self'",
      "script-src 'self'",
      "style-src 'self'",
    ])
    expect(text).not.toMatch(/<script(?! src="\/assets\/)|<style|\sstyle=|\son\w+=/)
  })

  test('needs no token, and ignores one', async () => {
    const { status, headers } = await get({ authorization: 'Bearer nothing' })
    expect([status, headers['ratelimit-limit']]).toEqual([200, undefined])
  })
})

describe('the page', () => {
  test('lists the operations of the contract, with their permissions', async () => {
    const { text } = await get()
    const listed = [...text.matchAll(/<li><code>(GET|POST) (\S+)<\/code><p>(.+?)<\/p><\/li>/g)]
    const place = { tenantId: '{tenant}', product: '{product}', voucher: '{voucher}', customer: '{customer}' }
    expect(
      listed.map(([, method, path, rest = '']) => ({
        method,
        path,
        permissions: [...rest.matchAll(/<code>(\w+)<\/code>/g)].map(([, permission]) => permission),
      })),
    ).toEqual(operations.map(({ method, path, permissions }) => ({ method, path: path(place), permissions })))
  })

  test('shows PUBLIC_URL as its address, or else the host of the request', async () => {
    expect(textOf((await get({ host: 'gateway.test:81' })).text)).toContain('http://gateway.test:81/api/external/v1/')
    const { text } = await get({}, await createApp(database, { PUBLIC_URL: 'https://gateway.example.com' }))
    expect(textOf(text)).toContain('https://gateway.example.com/api/external/v1/tenants')
    expect(text).toContain('href="https://gateway.example.com/admin"')
    expect(text).not.toContain('localhost')
  })

  test.each(["a'b", 'a;id', '$(id)', 'a&b'])('does not show a host that a shell could run: %j', async host => {
    const { status, text } = await get({ host })
    expect(status).toBe(200)
    expect(textOf(text)).toContain("'Accept: application/json' /api/external/v1/tenants")
  })

  test('states the request rate', async () => {
    const { text } = await get({}, await createApp(database, { RATE_LIMIT_PER_MINUTE: '77' }))
    expect(textOf(text)).toContain('77 operations per minute')
    for (const name of ['RateLimit-Limit', 'RateLimit-Remaining', 'RateLimit-Reset', 'Retry-After', '429']) {
      expect(text).toContain(name)
    }
  })
})

/** The header that all pages share; test/browser/sign-in.test.ts follows its links. */
const withoutGraphiql = await createApp(database, { GRAPHIQL: 'off', PUBLIC_URL: 'https://gateway.example.com' })
const pages = ['/', '/docs', '/docs/reference', '/docs/downloads', '/dashboard', '/admin/login']
test.each(pages)('the navigation of %s leaves out what is not served', async url => {
  const { status, text } = await withoutGraphiql.ask({
    url,
    headers: { host: 'gateway.example.com', accept: 'text/html' },
  })
  expect(status).toBe(200)
  const [, navigation = ''] = /<nav aria-label="Main">(.*?)<\/nav>/s.exec(text) ?? []
  const links = [...navigation.matchAll(/<a href="([^"]+)"(?: aria-current="page")?>([^<]+)<\/a>/g)]
  expect(links.map(([, address, name]) => `${name}: ${address}`)).toEqual([
    ...['Dashboard: /dashboard', 'Docs: /docs', 'API access: https://gateway.example.com/admin'],
  ])
})

describe('an address where nothing is', () => {
  const ask = (url: string, accept = chromium, method: 'GET' | 'HEAD' | 'POST' = 'GET') =>
    client.ask({ method, url, headers: { accept } })

  test.each([
    '/nothing',
    '/docs/nothing',
    '/assets/nothing.js',
    '/docs/downloads/nothing',
    '/graphiql/x',
    '/apis',
    '/.well-known/security.txt',
  ])('%s is a page with links for a browser, and JSON for others', async path => {
    const { status, headers, text } = await ask(path)
    expect([status, headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
    expect(text).toMatch(/<h1>Not found<\/h1>.*<a href="\/">/)
    expect(text).toContain('href="/dashboard"')
    expect(headers['content-security-policy']).toContain("default-src 'none'")
    expect(await ask(path, chromium, 'HEAD')).toMatchObject({ status: 404, text: '' })
    for (const accept of ['application/json', '*/*', '']) expect(flawOf(await ask(path, accept), 404)).toBeNull()
    expect(flawOf(await ask(path, chromium, 'POST'), 404)).toBeNull()
  })

  test('an API answers a browser with JSON', async () => {
    for (const [path, status] of [
      ['/api', 404],
      ['/api/external', 404],
      ['/api/external/v1/nothing', 401],
      ['/api/external/export/v1/nothing', 401],
      ['/graphql/nothing', 404],
    ] as const) {
      const answer = await ask(path)
      expect([path, answer.status, answer.headers['content-type']]).toEqual([
        path,
        status,
        'application/json; charset=utf-8',
      ])
    }
  })
})

test('browsers find an icon, and crawlers what they may read', async () => {
  const icon = await client.app.inject('/favicon.ico')
  expect([icon.statusCode, icon.headers['content-type']]).toEqual([200, 'image/x-icon'])
  // The signature of an icon with one image.
  expect(icon.rawPayload.subarray(0, 6).toString('hex')).toBe('000001000100')
  const { headers, text } = await client.ask({ method: 'GET', url: '/robots.txt' })
  expect(headers['content-type']).toBe('text/plain; charset=utf-8')
  expect(text).toMatch(/^User-agent: \*\n(Allow: .*\n)+Disallow: \/\n$/)
})

test('security.txt names whom to tell about a weakness', async () => {
  const url = '/.well-known/security.txt'
  const read = async (settings: NodeJS.ProcessEnv) =>
    (await createApp(database, { SECURITY_CONTACT: 'ann@example.com https://example.com/report', ...settings })).ask({
      url,
    })
  const { status, headers, text } = await read({ PUBLIC_URL: 'https://gateway.example.com' })
  expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8'])
  const [, expires = ''] = /^Expires: (.*)$/m.exec(text) ?? []
  expect(text).toBe(
    'Contact: mailto:ann@example.com\nContact: https://example.com/report\n' +
      `Expires: ${expires}\nPreferred-Languages: en\nCanonical: https://gateway.example.com${url}\n`,
  )
  const days = (Date.parse(expires) - Date.now()) / 86_400_000
  expect(days).toBeGreaterThan(30)
  expect(days).toBeLessThan(365)
  // An address that only this machine reaches is none for others.
  for (const settings of [{}, { PUBLIC_URL: 'http://localhost:8080' }]) {
    expect((await read(settings)).text).toMatch(/^Contact: .*\nContact: .*\nExpires: .*\nPreferred-Languages: en\n$/)
  }
})
