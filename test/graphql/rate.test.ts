import { describe, expect, it } from 'vitest'
import { remainingOf } from '../support/app.ts'
import { fresh } from '../support/graphql.ts'
import { startService } from '../support/service.ts'

const limit = 12

const { build, client } = await startService({ RATE_LIMIT_PER_MINUTE: String(limit) })
const tenantId = await build.tenant()

const newToken = async (rateLimit?: number) => (await build.token([tenantId], rateLimit ? { rateLimit } : {})).secret
const lists = (count: number) =>
  `{ ${Array.from({ length: count }, (_, n) => `f${n}: tenants(first: 1) { nodes { name } }`).join(' ')} }`

describe('the budget', () => {
  it('is shared by REST and GraphQL', async () => {
    const secret = await newToken()
    expect(remainingOf(await client.rest(secret, '/tenants'))).toBe(limit - 1)
    expect(remainingOf(await client.graphql(secret, lists(2)))).toBe(limit - 3)
    expect(remainingOf(await client.rest(secret, `/tenants/${tenantId}/catalog/vouchers`))).toBe(limit - 4)
  })

  it('allows exactly its number of operations in concurrent queries', async () => {
    const secret = await newToken()
    const answers = await Promise.all(
      // As many expensive requests as a token may have under way.
      Array.from({ length: 10 }, () => client.graphql(secret, lists(3))),
    )
    const served = answers.flatMap(({ body }) => Object.values(body.data ?? {})).filter(field => field !== null)
    expect(served).toHaveLength(limit)
  })

  it('of a token is shared by both transports, and reported in headers and by the viewer', async () => {
    const secret = await newToken(5)
    expect(remainingOf(await client.rest(secret, '/tenants'))).toBe(4)
    expect(remainingOf(await client.graphql(secret, lists(2)))).toBe(2)
    const answer = await client.graphql(secret, '{ viewer { rate { limit remaining resetsIn } } }')
    expect(answer.body.data.viewer.rate).toEqual({ limit: 5, remaining: 1, resetsIn: fresh })
    expect(answer.headers['ratelimit-limit']).toBe('5')
  })
})
