/** The header that all pages share; test/browser/sign-in.test.ts follows its links. */
import { expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { createDatabase } from '../support/database.ts'

const database = await createDatabase()
const pages = ['/', '/docs', '/docs/reference', '/docs/downloads', '/dashboard', '/admin/login']

const client = await createApp(database, { GRAPHIQL: 'off', PUBLIC_URL: 'https://gateway.example.com' })

test.each(pages)('the navigation of %s leaves out what is not served', async url => {
  const { status, text } = await client.ask({ url, headers: { host: 'gateway.example.com', accept: 'text/html' } })
  expect(status).toBe(200)
  const [, navigation = ''] = /<nav aria-label="Main">(.*?)<\/nav>/s.exec(text) ?? []
  const links = [...navigation.matchAll(/<a href="([^"]+)"(?: aria-current="page")?>([^<]+)<\/a>/g)]
  expect(links.map(([, address, name]) => `${name}: ${address}`)).toEqual([
    ...['Dashboard: /dashboard', 'Docs: /docs', 'API access: https://gateway.example.com/admin'],
  ])
})
