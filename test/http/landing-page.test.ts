import { expect, test } from 'vitest'
import { flawOf, operations } from '../rest/support.ts'
import { createApp } from '../support/app.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const { client, database } = await startService()

// The first request imports GraphiQL, which may take seconds on a busy machine.
await until('GraphiQL is loaded', async () => (await client.ask({ url: '/graphiql' })).status === 200, 60_000)

const chromium = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8'

const get = (headers: Record<string, string> = {}, { ask } = client) =>
  ask({ method: 'GET', url: '/', headers: { accept: chromium, host: 'localhost:8080', ...headers } })

const textOf = (html: string) => html.replaceAll(/<[^>]*>/g, '').replaceAll('&quot;', '"')

const html = [chromium, 'text/html', 'TEXT/HTML;q=0.1, application/json', 'application/json, text/html;charset=utf-8']
const neither = ['application/json', 'text/html;q=0, application/json', 'text/plain;q=0', 'text/htmlx', '', ';;,']
const plain = ['*/*', 'text/*', 'text/plain', 'application/json, */*;q=0.1', undefined]
test.each([
  ...html.map(accept => [accept, 200, 'text/html; charset=utf-8'] as const),
  ...neither.map(accept => [accept, 404, 'application/json; charset=utf-8'] as const),
  ...plain.map(accept => [accept, 200, 'text/plain; charset=utf-8'] as const),
])('GET / for Accept: %s is %i, %s', async (accept, expected, type) => {
  const sent = { host: 'localhost:8080', ...(accept !== undefined && { accept }) }
  const { status, headers } = await client.ask({ url: '/', headers: sent })
  expect([status, headers['content-type'], headers.vary]).toEqual([expected, type, 'Accept'])
})

test('GET / returns the links of the page as plain text', async () => {
  const { text } = await get({ accept: 'text/plain' })
  const links = [...text.matchAll(/^(\w.*?) +(http\S+)$/gm)].map(
    ([, name, link = '']) => [name, new URL(link)] as const,
  )
  expect(links.map(([name]) => name)).toEqual([
    ...['Dashboard', 'GraphiQL', 'Docs', 'API access', 'REST v1', 'OpenAPI', 'GraphQL'],
  ])
  for (const [name, { origin, pathname }] of links) {
    expect(origin).toBe('http://localhost:8080')
    const isApi = name === 'REST v1' || name === 'GraphQL'
    const { status } = await client.ask({ url: pathname, headers: { host: 'localhost:8080' } })
    if (!isApi) expect(status, name).toBeLessThan(400)
  }
})

test('/ is an unknown path for methods other than GET and HEAD', async () => {
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS'] as const) {
    expect(flawOf(await client.ask({ method, url: '/', headers: { accept: chromium } }), 404), method).toBeNull()
  }
  const head = await client.ask({ method: 'HEAD', url: '/', headers: { accept: chromium } })
  expect(head).toMatchObject({ status: 200, text: '', headers: { 'content-type': 'text/html; charset=utf-8' } })
})

test('the page lists the operations of the contract, with their permissions', async () => {
  const { text } = await get()
  const listed = [...text.matchAll(/<li><code>(GET|POST) (\S+)<\/code><p>(.+?)<\/p><\/li>/g)]
  const place = { tenantId: '{tenant}', product: '{product}', voucher: '{voucher}', customer: '{customer}' }
  const permissionsIn = (text: string) => [...text.matchAll(/<code>(\w+)<\/code>/g)].map(([, permission]) => permission)
  expect(listed.map(([, method, path, rest = '']) => [method, path, permissionsIn(rest)])).toEqual(
    operations.map(({ method, path, permissions }) => [method, path(place), permissions]),
  )
})

test('the page shows PUBLIC_URL as the address of the service, or else the host of the request', async () => {
  expect(textOf((await get({ host: 'gateway.test:81' })).text)).toContain('http://gateway.test:81/api/external/v1/')
  const { text } = await get({}, await createApp(database, { PUBLIC_URL: 'https://gateway.example.com' }))
  expect(textOf(text)).toContain('https://gateway.example.com/api/external/v1/tenants')
  expect(text).toContain('href="https://gateway.example.com/admin"')
  expect(text).not.toContain('localhost')
})

test.each(["a'b", 'a;id', '$(id)', 'a&b'])('the page does not show a host that a shell could run: %j', async host => {
  const { status, text } = await get({ host })
  expect(status).toBe(200)
  expect(textOf(text)).toContain("'Accept: application/json' /api/external/v1/tenants")
})

/** Tests the header that all pages share. test/browser/sign-in.test.ts clicks its links. */
const withoutGraphiql = await createApp(database, { GRAPHIQL: 'off', PUBLIC_URL: 'https://gateway.example.com' })
const pages = ['/', '/docs', '/dashboard', '/admin/login']
test.each(pages)('the navigation of %s has no link to pages that are not served', async url => {
  const headers = { host: 'gateway.example.com', accept: 'text/html' }
  const { status, text } = await withoutGraphiql.ask({ url, headers })
  expect(status).toBe(200)
  const [, navigation = ''] = /<nav aria-label="Main">(.*?)<\/nav>/s.exec(text) ?? []
  const links = [...navigation.matchAll(/<a href="([^"]+)"(?: aria-current="page")?>([^<]+)<\/a>/g)]
  expect(links.map(([, address, name]) => `${name}: ${address}`)).toEqual([
    ...['Dashboard: /dashboard', 'Docs: /docs', 'API access: https://gateway.example.com/admin'],
  ])
})

const ask = (url: string, accept = chromium, method: 'GET' | 'POST' = 'GET') =>
  client.ask({ method, url, headers: { accept } })

test.each([
  ...['/nothing', '/docs/nothing', '/assets/nothing.js', '/docs/downloads/nothing', '/graphiql/x', '/apis'],
  '/.well-known/security.txt',
])('an unknown path %s is answered with a page for browsers, and with JSON for other clients', async path => {
  const { status, headers, text } = await ask(path)
  expect([status, headers['content-type']]).toEqual([404, 'text/html; charset=utf-8'])
  expect(text).toMatch(/<h1>Not found<\/h1>.*<a href="\/">/)
  expect(headers['content-security-policy']).toContain("default-src 'none'")
  for (const accept of ['application/json', '*/*', '']) expect(flawOf(await ask(path, accept), 404)).toBeNull()
  expect(flawOf(await ask(path, chromium, 'POST'), 404)).toBeNull()
})

test.each([
  ['/api', 404],
  ['/api/external', 404],
  ['/api/external/v1/nothing', 401],
  ['/api/external/export/v1/nothing', 401],
  ['/graphql/nothing', 404],
])('an unknown API path %s is answered with JSON, also for browsers', async (path, status) => {
  expect(flawOf(await ask(path), status)).toBeNull()
})

test('the service has an icon for browsers, and a robots.txt for crawlers', async () => {
  const icon = await client.ask({ url: '/favicon.ico' })
  expect(icon).toMatchObject({ status: 200, headers: { 'content-type': 'image/x-icon' } })
  const { text } = await client.ask({ url: '/robots.txt' })
  expect(text).toMatch(/^User-agent: \*\n(Allow: .*\n)+Disallow: \/\n$/)
})

test('security.txt names the contact for reports of vulnerabilities', async () => {
  const url = '/.well-known/security.txt'
  const read = async (settings: NodeJS.ProcessEnv) => {
    const SECURITY_CONTACT = 'ann@example.com https://example.com/report'
    return (await (await createApp(database, { SECURITY_CONTACT, ...settings })).ask({ url })).text
  }
  const text = await read({ PUBLIC_URL: 'https://gateway.example.com' })
  const [, expires = ''] = /^Expires: (.*)$/m.exec(text) ?? []
  expect(text).toBe(
    'Contact: mailto:ann@example.com\nContact: https://example.com/report\n' +
      `Expires: ${expires}\nPreferred-Languages: en\nCanonical: https://gateway.example.com${url}\n`,
  )
  // The file expires within a year, as RFC 9116 recommends.
  expect((Date.parse(expires) - Date.now()) / 86_400_000).toBeLessThan(365)
  // `Canonical` is left out when only this machine can reach the address.
  expect(await read({ PUBLIC_URL: 'http://localhost:8080' })).not.toContain('Canonical')
})
