import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readGuide } from '../../docs/render/markdown.ts'
import { guides } from '../../src/docs/guides.ts'
import { flawOf } from '../rest/support.ts'
import { createApp } from '../support/app.ts'
import { documentedMessages } from '../support/documented-errors.ts'
import { startService } from '../support/service.ts'

const { database, client } = await startService()
const clientWithoutGraphiql = await createApp(database, { GRAPHIQL: 'off' })
const get = (url: string, headers: Record<string, string> = {}, { ask } = client) =>
  ask({ method: 'GET', url, headers: { host: 'localhost:8080', ...headers } })

const guidePaths = ['/docs', '/docs/search', '/docs/downloads', ...guides.map(({ slug }) => `/docs/${slug}`)]
const paths = [...guidePaths, '/docs/reference']

const splitPolicy = (policy: string | undefined) => policy?.split('; ').sort()
const closedDirectives = ["base-uri 'none'", "default-src 'none'", "frame-ancestors 'none'"]

test.each(guidePaths)('%s is a page that loads only its own files', async path => {
  const { status, headers, text } = await get(path)
  expect([status, headers['content-type']]).toEqual([200, 'text/html; charset=utf-8'])
  const own = ['connect-src', 'form-action', 'img-src', 'script-src', 'style-src'].map(name => `${name} 'self'`)
  expect(splitPolicy(headers['content-security-policy'])).toEqual([...closedDirectives, ...own].sort())
  expect(text).not.toMatch(/<style|\sstyle=|\son\w+=|<script(?! src="\/assets\/(guides|site|copy|search)\.js")/)
})

test('an address with a slash at its end redirects to the page', async () => {
  for (const path of paths) {
    const { status, headers } = await get(`${path}/`)
    expect([status, headers.location]).toEqual([308, path])
  }
})

test.each([
  ['/docs/reference', ["font-src 'self' data:", "form-action 'none'", "style-src 'self' 'unsafe-inline'"]],
  ['/dashboard', ["form-action 'none'", "style-src 'self'"]],
])('the Content-Security-Policy of %s allows only scripts of the service and requests to the service', async (path, own) => {
  const { status, headers, text } = await get(path)
  expect(status).toBe(200)
  const common = ["connect-src 'self'", "img-src 'self' data:", "script-src 'self'"]
  expect(splitPolicy(headers['content-security-policy'])).toEqual([...closedDirectives, ...common, ...own].sort())
  expect(text).not.toMatch(/<script>|<style|\son\w+=/)
})

test('the script of the dashboard evaluates no text', async () => {
  const { headers, text } = await get('/assets/dashboard.js')
  expect(headers['content-type']).toBe('text/javascript; charset=utf-8')
  expect(text).not.toMatch(/\beval\(|new Function/)
})

test('each link and each anchor in the pages has a target, and all anchors of a page differ', async () => {
  // GraphiQL is left out, because other tests check its page.
  const pages = new Map<string, string>()
  for (const path of ['/', ...paths])
    pages.set(path, (await get(path, { accept: 'text/html' }, clientWithoutGraphiql)).text)
  const links = [...pages].flatMap(([page, text]) =>
    [...text.matchAll(/(?:href|src)="([^"]+)"/g)].map(([, link = '']) => ({ page, link })),
  )
  expect(links.length).toBeGreaterThan(150)
  const known = new Map<string, number>()
  for (const { page, link } of links) {
    const [path = '', anchor] = link.split('#')
    const url = path === '' ? page : path
    known.set(url, known.get(url) ?? (await get(url, { accept: 'text/html, application/json' })).status)
    expect(known.get(url), `${page}: ${link}`).toBeLessThan(400)
    if (anchor) expect(pages.get(url), `${page}: ${link}`).toContain(`id="${anchor}"`)
  }
  for (const path of guidePaths) {
    expect([...known.keys()]).toContain(path)
    const ids = [...(pages.get(path) ?? '').matchAll(/\sid="([^"]+)"/g)].map(([, id]) => id)
    expect(ids, path).toEqual([...new Set(ids)])
  }
})

test('each guide has its title in the list of guides, and the guide of errors contains each message once', () => {
  for (const guide of guides) expect(readGuide(guide).split('\n', 1)[0]).toBe(`# ${guide.title}`)
  expect(documentedMessages.length).toBeGreaterThan(40)
  expect(documentedMessages).toEqual([...new Set(documentedMessages)])
})

async function searchGuides(query: string) {
  const { status, text } = await get(`/docs/search?q=${encodeURIComponent(query)}`)
  expect(status).toBe(200)
  const main = text.slice(text.indexOf('<main'), text.indexOf('</main>'))
  return { main, links: [...main.matchAll(/<a href="([^"]+)"/g)].map(([, link]) => link) }
}

test.each([
  ['RETRY-after repeat', 'rate-limits#wait-and-repeat'],
  ['date_valid_e', 'fields#purchased-voucher'],
  ['dateValidEnd', 'graphql-types#purchasedvoucher'],
  ['pagination', 'paging'],
  ['rate limt', 'rate-limits'],
  ['recieve voucher', 'sync#install-and-run-it'],
  ['how do I scan a voucher', 'resolving-a-voucher'],
  ['exit codes of sync', 'sync#exit-codes'],
])('the search for “%s” finds %s first', async (query, section) => {
  expect((await searchGuides(query)).links[0]).toBe(`/docs/${section}`)
})

test('the search finds only sections that contain all words of the query', async () => {
  expect((await searchGuides('updated_since')).links.length).toBeGreaterThan(2)
  expect((await searchGuides('a voucher that is xylophone')).links).toEqual([])
  expect((await searchGuides('<i>"x"</i>')).main).toContain('&lt;i>&quot;x&quot;&lt;/i>')
  for (const empty of ['', '  ', '%', 'ſ'.repeat(3_000)]) expect((await searchGuides(empty)).links, empty).toEqual([])
})

test('each page has its own description, or the description of the service', async () => {
  const describedBy = async (path: string) =>
    /<meta name="description" content="([^"]{30,250})"/.exec((await get(path, { accept: 'text/html' })).text)?.[1]
  for (const path of ['/', '/docs', '/docs/reference', '/dashboard', '/graphiql'])
    expect(await describedBy(path), path).toBeDefined()
  for (const { slug, summary } of guides) expect(await describedBy(`/docs/${slug}`)).toBe(summary)
})

test('the downloads are the files of the build, and their checksums are correct', async () => {
  const { text } = await get('/docs/downloads')
  const files = [...text.matchAll(/([0-9a-f]{64}) {2}([\w.-]+)/g)]
  expect(files.map(([, , name]) => name)).toEqual([
    expect.stringMatching(/^voucher-gateway-client-\d+\.\d+\.\d+\.tgz$/),
    expect.stringMatching(/^voucher-gateway-sync-\d+\.\d+\.\d+\.tgz$/),
    'openapi.v1.json',
    'voucher-gateway.postman_collection.json',
    'schema.graphql',
  ])
  for (const [, checksum, name = ''] of files) {
    const { headers, rawPayload } = await client.app.inject(`/docs/downloads/${name}`)
    expect(headers['content-disposition']).toBe(`attachment; filename="${name}"`)
    expect(createHash('sha256').update(rawPayload).digest('hex')).toBe(checksum)
    const folder = name.endsWith('.tgz') ? 'dist/docs/downloads' : 'schema'
    expect(rawPayload.equals(readFileSync(join(import.meta.dirname, '../..', folder, name))), name).toBe(true)
  }
  expect(flawOf(await get('/docs/downloads/package.json'), 404)).toBeNull()
})

test('the samples show PUBLIC_URL, or else the host of the request, as the address of the service', async () => {
  expect((await get('/docs/quick-start')).text).toContain('VOUCHER_GATEWAY_URL=http://localhost:8080\n')
  const { text } = await get('/docs/quick-start', {}, await createApp(database, { PUBLIC_URL: 'https://api.test' }))
  expect(text).toContain('VOUCHER_GATEWAY_URL=https://api.test\n')
  expect(text).toContain('href="https://api.test/admin"')
  expect((await get('/docs/quick-start', { host: '$(id)' })).text).toContain('VOUCHER_GATEWAY_URL=\n')
  const proxied = await createApp(database, { TRUST_PROXY: '127.0.0.1' })
  const headers = { 'x-forwarded-host': 'here', 'x-forwarded-proto': '"><b>' }
  expect((await proxied.ask({ method: 'GET', url: '/docs/quick-start', headers })).text).not.toContain('"><b>')
})

test('an unknown guide gives 404, and the pages link to GraphiQL only when it is enabled', async () => {
  for (const path of ['/docs/nothing', '/docs/quick-start/x']) expect(flawOf(await get(path), 404)).toBeNull()
  expect((await get('/docs')).text).toContain('href="/graphiql"')
  const { text } = await get('/docs', {}, clientWithoutGraphiql)
  expect(text).not.toMatch(/graphiql/i)
})
