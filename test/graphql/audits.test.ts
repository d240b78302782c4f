import { serverAudits } from 'graphql-http'
import { expect, it } from 'vitest'
import { createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'

it('passes every audit of GraphQL over HTTP', async () => {
  const database = await createDatabase()
  const { app } = await createApp(database)
  const { secret } = await createBuilders(database).token([])
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const fetchFn = (url: string, options: RequestInit = {}) => {
    const headers = new Headers(options.headers)
    headers.set('authorization', `Bearer ${secret}`)
    return fetch(url, { ...options, headers })
  }
  const audits = serverAudits({ url: `${origin}/graphql`, fetchFn })
  expect(audits.length).toBeGreaterThanOrEqual(61)
  const failed: string[] = []
  for (const audit of audits) {
    const result = await audit.fn()
    if (result.status !== 'ok') failed.push(`${result.status}: ${audit.name}`)
  }
  expect(failed).toEqual([])
})
