import { expect, test } from 'vitest'
import { whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'

const { build, client, platform, pool } = await startService()

const tenantId = await build.tenant()
const childId = await build.tenant({ parent_id: tenantId })
const { secret } = await build.token([tenantId])

const query = `query ($tenant: ID!, $since: DateTime, $resources: [RemovalResource!], $after: String, $first: Int) {
  tenant(id: $tenant) { removals(updatedSince: $since, resources: $resources, after: $after, first: $first) {
    nodes { resource recordId tenantId reason } nextCursor serverTime totalCount } } }`

async function removals(variables: Record<string, unknown> = {}, token = secret) {
  const { body } = await client.graphql(token, query, { tenant: String(tenantId), ...variables })
  return { ...body.data?.tenant?.removals, errors: body.errors }
}

/** Returns the records that an action removes from the lists of the tenant. */
async function removalsDuring(work: () => Promise<unknown>, token = secret) {
  const { serverTime } = await removals()
  await work()
  const { nodes } = await removals({ since: serverTime }, token)
  return nodes.map(({ resource, recordId, reason }: Record<string, unknown>) => [resource, recordId, reason])
}

test.each<[string, string, () => Promise<number>]>([
  ['CATALOG_VOUCHER', 'product', () => build.product(tenantId)],
  ['PURCHASED_VOUCHER', 'purchased_voucher', () => build.voucher(tenantId)],
  ['MARKETING_SIGNUP', 'customer', () => build.customer(tenantId)],
  ['TENANT', 'tenant', () => build.tenant({ parent_id: tenantId })],
])('%s: a record that is deleted, or gets another id, is reported under its id', async (resource, table, make) => {
  const [deleted, renumbered] = [await make(), await make()]
  if (table === 'product') await build.variant(deleted)
  const remove = () => platform`delete from ${platform(table)} where id = ${deleted}`
  expect(await removalsDuring(remove)).toEqual([[resource, deleted, 'DELETED']])
  const renumber = () => platform`update ${platform(table)} set id = id + 1000000 where id = ${renumbered}`
  expect(await removalsDuring(renumber)).toEqual([[resource, renumbered, 'DELETED']])
})

test('a customer who withdraws consent is reported once, and is listed again after a new consent', async () => {
  const customer = await build.customer(tenantId, { email: 'ada@example.com' })
  const withdraw = () => platform`update customer set marketing_opted = false where id = ${customer}`
  expect(await removalsDuring(withdraw)).toEqual([['MARKETING_SIGNUP', customer, 'CONSENT_WITHDRAWN']])
  expect(await removalsDuring(() => platform`update customer set forename = 'Ada' where id = ${customer}`)).toEqual([])
  expect(await removalsDuring(() => platform`delete from customer where id = ${customer}`)).toEqual([])
  const other = await build.customer(tenantId, { marketing_opted: false })
  const consent = () => platform`update customer set marketing_opted = true where id = ${other}`
  expect(await removalsDuring(consent)).toEqual([])
})

test('removals require the permissions of the record', async () => {
  const vouchersOnly = await build.token([tenantId], { permissions: ['view_vouchers'] })
  const product = await build.product(tenantId)
  const customer = await build.customer(tenantId)
  const remove = async () => {
    await platform`delete from product where id = ${product}`
    await platform`delete from customer where id = ${customer}`
  }
  expect(await removalsDuring(remove, vouchersOnly.secret)).toEqual([['CATALOG_VOUCHER', product, 'DELETED']])
  const { errors } = await removals({ resources: ['CATALOG_VOUCHER', 'MARKETING_SIGNUP'] }, vouchersOnly.secret)
  expect(errors[0].extensions.code).toBe('FORBIDDEN')
  expect(errors[0].message).toContain('export_customer_information')
  const foreign = await removals({ tenant: String(childId) })
  expect(foreign.errors[0].extensions.code).toBe('FORBIDDEN')
})

test('removals of several types are listed in one order, and each once', async () => {
  const { serverTime: since } = await removals()
  const gone: [string, number][] = []
  for (let made = 0; made < 4; made++) {
    const [voucher, customer] = [await build.voucher(tenantId), await build.customer(tenantId)]
    const product = await build.product(tenantId)
    await projected(pool)
    await platform`delete from purchased_voucher where id = ${voucher}`
    await platform`delete from customer where id = ${customer}`
    await platform`delete from product where id = ${product}`
    await projected(pool)
    gone.push(['PURCHASED_VOUCHER', voucher], ['MARKETING_SIGNUP', customer])
  }
  const asked = { since, resources: ['PURCHASED_VOUCHER', 'MARKETING_SIGNUP', 'PURCHASED_VOUCHER'], first: 5 }
  const first = await removals(asked)
  const second = await removals({ ...asked, after: first.nextCursor })
  const reported = [...first.nodes, ...second.nodes].map(({ resource, recordId }) => [resource, recordId])
  expect(reported).toEqual(gone)
  expect([first.nodes.length, first.totalCount, second.nextCursor]).toEqual([5, 8, null])
})

test('records that moved to another tenant and came back are not reported, because they are in their lists', async () => {
  const both = await build.token([tenantId, childId])
  const product = await build.product(tenantId)
  const voucher = await build.voucher(tenantId)
  const moveTo = async (tenant: number) => {
    await platform`update product set tenant_id = ${tenant} where id = ${product}`
    await platform`update purchased_voucher set tenant_id = ${tenant} where id = ${voucher}`
  }
  const { serverTime } = await removals()
  await moveTo(childId)
  await projected(pool)
  await moveTo(tenantId)
  expect((await removals({ since: serverTime })).nodes).toEqual([])
  const there = await removals({ since: serverTime, tenant: String(childId) }, both.secret)
  expect(there.nodes).toMatchObject([
    { resource: 'CATALOG_VOUCHER', recordId: product, tenantId: childId, reason: 'MOVED' },
    { resource: 'PURCHASED_VOUCHER', recordId: voucher, tenantId: childId, reason: 'MOVED' },
  ])
})

/** Creates a chain of four tenants, and tokens for the whole chain and for the tenants from the second on. */
async function createTree() {
  const top = await build.tenant()
  const middle = await build.tenant({ parent_id: top })
  const parent = await build.tenant({ parent_id: middle })
  const child = await build.tenant({ parent_id: parent })
  const ofTop = await build.token([whole(top)])
  const ofMiddle = await build.token([whole(middle)])
  /** Returns the ids and reasons of the removals that a token sees after an action, in the order of the ids. */
  const reported = async (tenant: number, token: { secret: string }, work: () => Promise<unknown>) => {
    const { serverTime } = await removals({ tenant: String(tenant) }, token.secret)
    await work()
    const { nodes } = await removals({ tenant: String(tenant), since: serverTime }, token.secret)
    const found = nodes.map(({ recordId, reason }: { recordId: number; reason: string }) => [recordId, reason])
    return found.sort(([a]: [number], [b]: [number]) => a - b)
  }
  return { top, middle, parent, child, ofTop, ofMiddle, reported }
}

test('when a tenant and its child are deleted together, both are reported', async () => {
  const { middle, parent, child, ofTop, reported } = await createTree()
  const remove = () =>
    platform`with gone as (delete from tenant where id = ${parent}) delete from tenant where id = ${child}`
  expect(await reported(middle, ofTop, remove)).toEqual([
    [parent, 'DELETED'],
    [child, 'DELETED'],
  ])
})

test('when a subtree leaves the scope of a token, all its tenants are reported, only to that token', async () => {
  const { top, middle, parent, child, ofTop, ofMiddle, reported } = await createTree()
  const move = () => platform`update tenant set parent_id = ${top} where id = ${parent}`
  expect(await reported(middle, ofMiddle, move)).toEqual([
    [parent, 'MOVED'],
    [child, 'MOVED'],
  ])
  expect((await removals({ tenant: String(middle) }, ofTop.secret)).nodes).toEqual([])
  await platform`update tenant set parent_id = ${middle} where id = ${parent}`
  expect((await removals({ tenant: String(middle) }, ofMiddle.secret)).nodes, 'it came back').toEqual([])
})

test('a tenant with a grant of its own stays in the list wherever it moves', async () => {
  const { middle, parent, child } = await createTree()
  const named = await build.token([middle, child])
  await platform`update tenant set parent_id = null where id = ${parent}`
  const { nodes } = await removals({ tenant: String(middle) }, named.secret)
  expect(nodes.map((node: { recordId: number }) => node.recordId)).toEqual([parent])
})

test('each tenant of a chain that leaves, one after the other, is reported', async () => {
  const { top, middle, parent, child, ofTop, reported } = await createTree()
  const leave = async () => {
    await platform`update tenant set parent_id = null where id = ${child}`
    await platform`update tenant set parent_id = null where id = ${parent}`
    await platform`delete from tenant where id = ${middle}`
  }
  expect(await reported(top, ofTop, leave)).toEqual([
    [middle, 'DELETED'],
    [parent, 'MOVED'],
    [child, 'MOVED'],
  ])
})
