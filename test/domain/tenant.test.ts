import { beforeAll, expect, test } from 'vitest'
import { countGrantedTenants, findTenants } from '../../src/domain/tenant/tenant.ts'
import type { Token } from '../../src/domain/token/token.ts'
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

/** @returns the shortest of several measured times, in milliseconds */
async function timeOf(work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  for (let time = 0; time < 4; time++) {
    const start = performance.now()
    await work()
    times.push(performance.now() - start)
  }
  return Math.min(...times)
}

/** Ten times as many may take a bit more than ten times as long, and not a hundred times. */
const mostOf = (timeOfTenth: number) => 40 * timeOfTenth + 100

test('thousands of tenants are found at once, in the order in which they are asked for', async () => {
  const asked = [...ids.slice(0, 8_000).reverse(), -1, ids[0]!, ids[0]!]
  const found = await findTenants(pool, asked)
  expect(found.map(tenant => tenant?.id ?? -1)).toEqual(asked)
  const tenth = await timeOf(() => findTenants(pool, asked.slice(0, 800)))
  expect(await timeOf(() => findTenants(pool, asked))).toBeLessThan(mostOf(tenth))
})

test('counts the tenants of a token for five thousand as quickly, each of them once', async () => {
  const tenants = ids.slice(0, 5_000).map((tenantId, index) => ({ tenantId, withDescendants: index === 0 }))
  expect(await countGrantedTenants(pool, token(tenants), null)).toBe(5_001)
  expect(await countGrantedTenants(pool, token([]), null)).toBe(0)
  const everyOther = tenants.map(grant => ({ ...grant, withDescendants: true }))
  expect(await countGrantedTenants(pool, token(everyOther), null)).toBe(5_002)
  expect(await countGrantedTenants(pool, token(everyOther), '2999-01-01T00:00:00.000000Z')).toBe(0)
  const tenth = await timeOf(() => countGrantedTenants(pool, token(everyOther.slice(0, 500)), null))
  expect(await timeOf(() => countGrantedTenants(pool, token(everyOther), null))).toBeLessThan(mostOf(tenth))
})
