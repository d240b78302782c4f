import { serverAudits } from 'graphql-http'
import { expect, it } from 'vitest'
import { startService } from '../support/service.ts'

it('passes every audit of GraphQL over HTTP', async () => {
  const { build, client } = await startService()
  const { secret } = await build.token([])
  const origin = await client.app.listen({ port: 0, host: '127.0.0.1' })
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
