import { expect, test } from 'vitest'
import { createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'

const database = await createDatabase()
const { platform } = database
const build = createBuilders(database)
const client = await createApp(database)

const tenantId = await build.tenant()
const childId = await build.tenant({ parent_id: tenantId })
const { secret } = await build.token([tenantId])

const query = `query ($tenant: ID!, $since: DateTime, $resources: [RemovalResource!], $after: String, $first: Int) {
  tenant(id: $tenant) {
    removals(updatedSince: $since, resources: $resources, after: $after, first: $first) {
      nodes { resource recordId tenantId reason removedAt }
      nextCursor
      serverTime
      totalCount
    }
  }
}`

async function removals(variables: Record<string, unknown> = {}, token = secret) {
  const { body } = await client.graphql(token, query, { tenant: String(tenantId), ...variables })
  return { ...body.data?.tenant?.removals, errors: body.errors }
}

/** What left the tenant's lists while this was done. */
async function gone(work: () => Promise<unknown>, token = secret) {
  const { serverTime } = await removals()
  await work()
  const { nodes } = await removals({ since: serverTime }, token)
  return nodes.map(({ resource, recordId, reason }: Record<string, unknown>) => [resource, recordId, reason])
}

test('records that are deleted are told, those of other tenants are not', async () => {
  const product = await build.product(tenantId)
  await build.variant(product)
  const vouchers = [await build.voucher(tenantId), await build.voucher(tenantId)]
  const foreign = await build.voucher(childId)
  const customer = await build.customer(tenantId)
  expect(await gone(() => platform`delete from product where id = ${product}`)).toEqual([
    ['CATALOG_VOUCHER', product, 'DELETED'],
  ])
  const all = () => platform`delete from purchased_voucher where id in (${vouchers[0]!}, ${vouchers[1]!}, ${foreign})`
  expect(await gone(all)).toEqual(expect.arrayContaining(vouchers.map(id => ['PURCHASED_VOUCHER', id, 'DELETED'])))
  expect(await gone(() => platform`delete from customer where id = ${customer}`)).toEqual([
    ['MARKETING_SIGNUP', customer, 'DELETED'],
  ])
  const grandchild = await build.tenant({ parent_id: tenantId })
  expect(await gone(() => platform`delete from tenant where id = ${grandchild}`)).toEqual([
    ['TENANT', grandchild, 'DELETED'],
  ])
})

test('a customer who withdraws consent is told once, and may come back', async () => {
  const customer = await build.customer(tenantId, { email: 'ada@example.com' })
  const withdraw = () => platform`update customer set marketing_opted = false where id = ${customer}`
  expect(await gone(withdraw)).toEqual([['MARKETING_SIGNUP', customer, 'CONSENT_WITHDRAWN']])
  expect(await gone(() => platform`update customer set forename = 'Ada' where id = ${customer}`)).toEqual([])
  expect(await gone(() => platform`delete from customer where id = ${customer}`)).toEqual([])
  const other = await build.customer(tenantId, { marketing_opted: false })
  expect(await gone(() => platform`update customer set marketing_opted = true where id = ${other}`)).toEqual([])
})

test('a record that goes over to another tenant has left this one', async () => {
  const voucher = await build.voucher(tenantId)
  const move = () => platform`update purchased_voucher set tenant_id = ${childId} where id = ${voucher}`
  expect(await gone(move)).toEqual([['PURCHASED_VOUCHER', voucher, 'MOVED']])
})

test('a truncation is told too', async () => {
  const voucher = await build.voucher(tenantId)
  expect(await gone(() => platform`truncate purchased_voucher`)).toEqual([['PURCHASED_VOUCHER', voucher, 'DELETED']])
})

test('what is rolled back is not told', async () => {
  const voucher = await build.voucher(tenantId)
  const undo = () =>
    platform.begin(async transaction => {
      await transaction`delete from purchased_voucher where id = ${voucher}`
      throw new Error('undone')
    })
  expect(await gone(() => expect(undo()).rejects.toThrow('undone'))).toEqual([])
})

test('being told needs what the record itself needs', async () => {
  const vouchersOnly = await build.token([tenantId], { permissions: ['view_vouchers'] })
  const product = await build.product(tenantId)
  const customer = await build.customer(tenantId)
  const remove = async () => {
    await platform`delete from product where id = ${product}`
    await platform`delete from customer where id = ${customer}`
  }
  expect(await gone(remove, vouchersOnly.secret)).toEqual([['CATALOG_VOUCHER', product, 'DELETED']])
  const { errors } = await removals({ resources: ['CATALOG_VOUCHER', 'MARKETING_SIGNUP'] }, vouchersOnly.secret)
  expect(errors[0].extensions.code).toBe('FORBIDDEN')
  expect(errors[0].message).toContain('export_customer_information')
  const foreign = await removals({ tenant: String(childId) })
  expect(foreign.errors[0].extensions.code).toBe('FORBIDDEN')
})

test('they are paged like every list', async () => {
  await platform`delete from purchased_voucher where tenant_id = ${tenantId}`
  const { serverTime } = await removals()
  const ids = []
  for (let made = 0; made < 7; made++) ids.push(await build.voucher(tenantId))
  await platform`delete from purchased_voucher where tenant_id = ${tenantId}`
  const seen = []
  let after = null
  do {
    const page: { nodes: { recordId: number }[]; nextCursor: string | null } = await removals({
      since: serverTime,
      first: 3,
      after,
    })
    seen.push(...page.nodes.map(node => node.recordId))
    after = page.nextCursor
  } while (after)
  expect(seen.sort((a, b) => a - b)).toEqual(ids)
})

test('those of several resources come in one order, once each', async () => {
  const { serverTime } = await removals()
  const gone: [string, number][] = []
  for (let made = 0; made < 4; made++) {
    const voucher = await build.voucher(tenantId)
    const customer = await build.customer(tenantId)
    await platform`delete from purchased_voucher where id = ${voucher}`
    await platform`delete from customer where id = ${customer}`
    await platform`delete from product where id = ${await build.product(tenantId)}`
    gone.push(['PURCHASED_VOUCHER', voucher], ['MARKETING_SIGNUP', customer])
  }
  const resources = ['PURCHASED_VOUCHER', 'MARKETING_SIGNUP', 'PURCHASED_VOUCHER']
  const first = await removals({ since: serverTime, resources, first: 5 })
  const second = await removals({ since: serverTime, resources, first: 5, after: first.nextCursor })
  const told = [...first.nodes, ...second.nodes].map(({ resource, recordId }) => [resource, recordId])
  expect(told).toEqual(gone)
  expect([first.nodes.length, first.totalCount, second.nextCursor]).toEqual([5, 8, null])
})
