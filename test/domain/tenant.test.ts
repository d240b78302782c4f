import { beforeAll, expect, test } from 'vitest'
import { countTenants, findTenants } from '../../src/domain/tenant.ts'
import type { Token } from '../../src/domain/token.ts'
import { createDatabase } from '../support/database.ts'

const { pool, platform } = await createDatabase()
let ids: number[] = []

beforeAll(async () => {
  ids = (
    await platform<{ id: number }[]>`
      insert into tenant (name) select 'Tenant ' || number from generate_series(1, 20000) number returning id`
  ).map(({ id }) => id)
  await platform`insert into tenant (name, parent_id) values ('Below', ${ids[0]!}), ('Below', ${ids[1]!})`
})

const token = (tenants: Token['tenants']): Token => ({
  id: 1,
  name: 'Wide',
  permissions: [],
  tenants,
  rateLimit: null,
  expiresAt: null,
})

/** @returns how long it takes when it is done again, in milliseconds */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  await work()
  const start = performance.now()
  await work()
  return performance.now() - start
}

test('thousands of tenants are found at once, in the order in which they are asked for', async () => {
  const asked = [...ids.slice(0, 8_000).reverse(), -1, ids[0]!, ids[0]!]
  const found = await findTenants(pool, asked)
  expect(found.map(tenant => tenant?.id ?? -1)).toEqual(asked)
  expect(await timeOf(() => findTenants(pool, asked))).toBeLessThan(400)
})

test('a token for five thousand tenants has them counted as quickly, and each once', async () => {
  const tenants = ids.slice(0, 5_000).map((tenantId, index) => ({ tenantId, withDescendants: index === 0 }))
  expect(await countTenants(pool, token(tenants), null)).toBe(5_001)
  expect(await countTenants(pool, token([]), null)).toBe(0)
  const everyOther = tenants.map(grant => ({ ...grant, withDescendants: true }))
  expect(await countTenants(pool, token(everyOther), null)).toBe(5_002)
  expect(await countTenants(pool, token(everyOther), '2999-01-01T00:00:00.000000Z')).toBe(0)
  expect(await timeOf(() => countTenants(pool, token(everyOther), null))).toBeLessThan(300)
})
