/** The header that all pages share. */
import { expect, test } from 'vitest'
import { type Client, createApp } from '../support/app.ts'
import { createDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const database = await createDatabase()
const pages = ['/', '/docs', '/docs/reference', '/docs/downloads', '/dashboard', '/graphiql', '/admin/login']

const plain = await createApp(database)
const others = await createApp(database, { GRAPHIQL: 'off', PUBLIC_URL: 'https://gateway.example.com' })

/** Returns the links of the navigation of a page, and the name of the current one. */
async function navigationOf({ ask }: Client, url: string, host: string) {
  const load = () => ask({ method: 'GET', url, headers: { host, accept: 'text/html' } })
  // The first request imports GraphiQL, which takes seconds on a busy machine.
  await until('the page is loaded', async () => (await load()).status === 200, 60_000)
  const { text } = await load()
  const [, navigation = ''] = /<nav aria-label="Main">(.*?)<\/nav>/s.exec(text) ?? []
  const links = [...navigation.matchAll(/<a href="([^"]+)"( aria-current="page")?>([^<]+)<\/a>/g)]
  return {
    places: links.map(([, address, , name]) => `${name}: ${address}`),
    current: links.filter(([, , isCurrent]) => isCurrent).map(([, , , name]) => name),
    text,
  }
}

const current: Record<string, string[]> = { '/': [], dashboard: ['Dashboard'], graphiql: ['GraphiQL'], docs: ['Docs'] }
const currentOn = (path: string) => (path === '/' ? [] : (current[path.split('/')[1] ?? ''] ?? ['API access']))

test.each(pages)('%s has the navigation of all pages, with its place marked', async path => {
  const { places, current, text } = await navigationOf(plain, path, 'localhost:8080')
  expect(places).toEqual(['Dashboard: /dashboard', 'GraphiQL: /graphiql', 'Docs: /docs', 'API access: /admin'])
  expect(current).toEqual(currentOn(path))
  expect(text).toContain('<a class="brand" href="/"')
  expect(text).not.toContain('data-demo')
})

test.each(pages.filter(path => path !== '/graphiql'))('on %s it leaves out what is not served', async path => {
  const { places } = await navigationOf(others, path, 'gateway.example.com')
  expect(places).toEqual(['Dashboard: /dashboard', 'Docs: /docs', 'API access: https://gateway.example.com/admin'])
})
