/** The head of a list is the stamp of its last change (I12). A client that finds the changed lists by it misses none. */
import { expect, test } from 'vitest'
import { checkFigures, repairFigures } from '../../src/domain/figures/check.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { makeNextStep, projected } from '../support/projected.ts'

const database = await createDatabase()
const { pool, platform } = database
const build = createBuilders(database)

const parent = await build.tenant()
const tenant = await build.tenant({ parent_id: parent })
const child = await build.tenant({ parent_id: tenant })
const other = await build.tenant()
const names = { [parent]: 'parent', [tenant]: 'tenant', [child]: 'child', [other]: 'other' }
const product = await build.product(tenant)
const variant = await build.variant(product)
const category = await build.category(tenant, [product])
const voucher = await build.voucher(tenant)
const customer = await build.customer(tenant)

const lastStep = () => platform<[{ stamp: string }]>`select stamp::text from gateway.step order by stamp desc limit 1`

/** Returns the lists whose heads move with a change, as `tenant voucher`. */
async function movedBy(change: () => PromiseLike<unknown>): Promise<string[]> {
  await projected(pool)
  const [{ stamp }] = await lastStep()
  await change()
  await projected(pool)
  expect((await checkFigures(pool)).differences).toEqual([])
  const moved = await platform<{ tenantId: number; record: string }[]>`
    select tenant_id as "tenantId", record from gateway.list_head
    where changed_at > ${stamp}::text::timestamptz order by tenant_id, record`
  return moved.map(({ tenantId, record }) => `${names[tenantId] ?? tenantId} ${record}`)
}

test('the first fill gives each list with records its head', async () => {
  await projected(pool)
  const heads = await platform<
    { count: number }[]
  >`select count(*) from gateway.list_head group by record order by record`
  expect(heads.map(({ count }) => count)).toEqual([4, 1, 1, 1])
  expect((await checkFigures(pool)).differences).toEqual([])
})

test('a list moves with its own records, and with no others', async () => {
  expect(await movedBy(() => platform`update purchased_voucher set void = true where id = ${voucher}`)).toEqual([
    'tenant voucher',
  ])
  expect(await movedBy(() => platform`update purchased_voucher set customer_name = 'Ann'`)).toEqual([])
  expect(await movedBy(() => platform`update variant set title = 'Spa' where id = ${variant}`)).toEqual([
    'tenant product',
  ])
  expect(await movedBy(() => platform`update category set title = 'Spa' where id = ${category}`)).toEqual([
    'tenant product',
  ])
  expect(await movedBy(() => platform`update tenant set name = 'New' where id = ${tenant}`)).toEqual(['tenant tenant'])
})

test('a list moves when a record leaves it', async () => {
  const moved = await build.voucher(tenant)
  expect(await movedBy(() => platform`update purchased_voucher set tenant_id = ${other} where id = ${moved}`)).toEqual([
    'tenant voucher',
    'other voucher',
  ])
  expect(await movedBy(() => platform`delete from purchased_voucher where id = ${moved}`)).toEqual(['other voucher'])
  // A row that breaks a rule keeps its record, except in the list of a tenant that it no longer names.
  const rejected = await build.voucher(other)
  const reject = () => platform`
    update purchased_voucher set tenant_id = ${tenant}, date_valid_end = 'infinity' where id = ${rejected}`
  expect(await movedBy(reject)).toEqual(['other voucher'])
})

test('the list of customers shows consent alone', async () => {
  const change = (columns: Record<string, unknown>) => () =>
    platform`update customer set ${platform(columns)} where id = ${customer}`
  expect(await movedBy(change({ forename: 'Ann' }))).toEqual(['tenant customer'])
  expect(await movedBy(change({ marketing_opted: false }))).toEqual(['tenant customer'])
  expect(await movedBy(change({ forename: 'Bob' }))).toEqual([])
  expect(await movedBy(change({ marketing_opted: true }))).toEqual(['tenant customer'])
})

test('the list of tenants moves for a tenant that moved, for all below it, and for all above it', async () => {
  expect(await movedBy(() => platform`update tenant set parent_id = ${other} where id = ${tenant}`)).toEqual([
    'parent tenant',
    'tenant tenant',
    'child tenant',
  ])
  const gone = await build.tenant({ parent_id: child })
  // Its own too: a token may name it alone.
  expect(await movedBy(() => platform`delete from tenant where id = ${gone}`)).toEqual([
    'tenant tenant',
    'child tenant',
    'other tenant',
    `${gone} tenant`,
  ])
})

test('a step in parts, and one that evaluates nothing new, give heads that no step is before', async () => {
  for (let n = 0; n < 20; n++) await build.voucher(n % 2 ? tenant : other)
  while (await makeNextStep(pool, 3)) expect((await checkFigures(pool)).differences).toEqual([])
  await platform`select gateway.request_scan('voucher', 'A test compares all.')`
  expect(await movedBy(async () => {})).toEqual([])
})

test('heads that are not right are found, and corrected with a full pass, because clients may have missed changes', async () => {
  await projected(pool)
  await platform`update gateway.list_head set changed_at = '2020-01-01Z' where (tenant_id, record) = (${tenant}, 'voucher')`
  await platform`update gateway.list_head set changed_at = now() + interval '1 h' where (tenant_id, record) = (${other}, 'voucher')`
  await platform`delete from gateway.list_head where (tenant_id, record) = (${tenant}, 'product')`
  const { differences } = await checkFigures(pool)
  expect(differences).toEqual([{ kind: 'head', rows: 3, tenants: 2, firstTenant: tenant }])
  const [former] = await platform<[{ epoch: number }]>`select epoch from gateway.sync_state`
  await repairFigures(pool)
  expect((await checkFigures(pool)).differences).toEqual([])
  const [present] = await platform<[{ epoch: number }]>`select epoch from gateway.sync_state`
  expect(present.epoch).toBeGreaterThan(former.epoch)
})

test('a mapping that did not fit during an upgrade is prepared when it fits: its writer is the new one', async () => {
  await projected(pool)
  const [{ writer }] = await platform<[{ writer: string }]>`
    select pg_get_functiondef('gateway.write_voucher'::regproc) as writer`
  const former = writer.replace(/\(select array_agg\(\(tenant_id, 'voucher'.*?from head\)/s, 'null')
  expect(former).not.toBe(writer)
  await platform.unsafe(former)
  await platform`alter table purchased_voucher rename column void_reason to reason_of_void`
  await platform`call gateway.prepare_mappings(false)`
  await platform`alter table purchased_voucher rename column reason_of_void to void_reason`
  expect(await movedBy(() => platform`update purchased_voucher set void = not void where id = ${voucher}`)).toEqual([
    'tenant voucher',
  ])
})
