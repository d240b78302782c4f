import { expect, it } from 'vitest'
import { countCalls, unlessKept } from '../graphql/statements.ts'
import { bearer, createWorld, operations, perform } from './support.ts'

const world = await createWorld()
const { client, place, build } = world

/** The statements that each operation runs, once each, when the token and the tenant are cached. */
const needed: Record<string, string[]> = {
  'list tenants': ['tenant.list'],
  'list catalog vouchers': ['category.of_products', 'product.list', 'variant.of_products'],
  'get catalog voucher': ['category.of_products', 'product.find', 'variant.of_products'],
  'list purchased vouchers': ['voucher.list'],
  'get purchased voucher': ['voucher.find'],
  'list marketing signups': ['export.record', 'customer.list'],
  'get marketing signup': ['export.record', 'customer.find'],
  'resolve voucher': ['resolution.find'],
}

it.each(operations)('$name runs only the statements that it needs', async operation => {
  const calls = await countCalls(world, async () => {
    expect((await perform(client, operation, place, bearer(world.secret))).status).toBe(200)
  })
  expect(unlessKept(calls)).toEqual(Object.fromEntries((needed[operation.name] ?? []).map(name => [name, 1])))
})

it('reads the token and the tenant once, and the pages twice, for concurrent requests', async () => {
  const tenantId = await build.tenant()
  const { secret } = await build.token([tenantId])
  const path = `/tenants/${tenantId}/sales/purchased-vouchers`
  const calls = await countCalls(world, () => Promise.all([1, 2, 3, 4, 5].map(() => client.rest(secret, path))))
  expect(calls).toEqual({
    'token.find': 1,
    'tenant.paths': 1,
    // Those that come while the first page is being read share a statement.
    'voucher.list': 1,
    'voucher.list_of_tenants': 1,
  })
})

it('runs no further statements when nothing is new', async () => {
  const { tenantId, secret } = world
  const path = `/tenants/${tenantId}/catalog/vouchers?updated_since=2999-01-01T00:00:00Z`
  const calls = await countCalls(world, () => client.rest(secret, path))
  expect(unlessKept(calls)).toEqual({ 'product.list': 1 })
})
