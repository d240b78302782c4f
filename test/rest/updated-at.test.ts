import { beforeEach, describe, expect, test } from 'vitest'
import { createWorld, type Place } from './support.ts'

const { client, build, platform, secret, tenantId, place } = await createWorld()
const { voucher, customer } = place as Record<keyof Place, number>

const catalog = `/tenants/${tenantId}/catalog/vouchers`
const stampOf = async (id: number): Promise<string> =>
  (await client.rest(secret, `${catalog}/${id}`)).body.data.updated_at

describe('a product gets a new stamp', () => {
  let one: number
  let two: number
  let variant: number
  let category: number
  beforeEach(async () => {
    one = await build.product(tenantId)
    two = await build.product(tenantId)
    variant = await build.variant(one)
    category = await build.category(tenantId, [one, two])
  })

  /** Runs a statement as the platform does, and returns which products got a new stamp, and are listed since. */
  async function moved(statement: TemplateStringsArray, ...values: (number | string)[]): Promise<number[]> {
    const { body } = await client.rest(secret, catalog)
    await platform(statement, ...values)
    const since = await client.rest(secret, `${catalog}?updated_since=${body.server_time}`)
    const found = since.body.data.map(({ id }: { id: number }) => id).sort((a: number, b: number) => a - b)
    const stamped: number[] = []
    for (const id of [one, two]) if ((await stampOf(id)) > body.server_time) stamped.push(id)
    expect(found).toEqual(stamped)
    return stamped
  }

  test('when it is changed itself, and not when a write changes nothing', async () => {
    expect(await moved`update product set title = 'New' where id = ${one}`).toEqual([one])
    expect(await moved`update product set title = title`).toEqual([])
  })

  test('when a variant of it is added, changed or removed', async () => {
    expect(
      await moved`
      insert into variant (product_id, slug, title, currency) values (${two}, 'v', 'V', 'GBP')`,
    ).toEqual([two])
    expect(await moved`update variant set price = 5 where id = ${variant}`).toEqual([one])
    expect(await moved`update variant set title = title`).toEqual([])
    expect(await moved`delete from variant where id = ${variant}`).toEqual([one])
    expect(await moved`delete from variant where id = ${variant}`).toEqual([])
  })

  test('when a variant moves from one product to another, both of them', async () => {
    expect(await moved`update variant set product_id = ${two} where id = ${variant}`).toEqual([one, two])
  })

  test('when a category of it is changed, added or removed, and not when a write changes nothing', async () => {
    expect(await moved`update category set title = 'New' where id = ${category}`).toEqual([one, two])
    expect(await moved`update category set title = 'New' where id = ${category}`).toEqual([])
    expect(await moved`delete from product_category where product_id = ${one}`).toEqual([one])
    expect(await moved`insert into product_category values (${one}, ${category})`).toEqual([one])
    expect(await moved`delete from category where id = ${category}`).toEqual([one, two])
  })

  test('with many others, in one statement', async () => {
    expect(await moved`update variant set price = 7 where product_id in (${one}, ${two})`).toEqual([one])
    expect(await moved`update product_category set category_id = category_id`).toEqual([])
  })
})

test.each([
  ['purchased_voucher', 'sales/purchased-vouchers', voucher, 'current_balance = 3, currency = $$GBP$$'],
  ['customer', 'customers/marketing-signups', customer, 'forename = $$Ann$$'],
])('a %s gets a new stamp when it is changed, and not when a write changes nothing', async (table, list, id, change) => {
  const path = `/tenants/${tenantId}/${list}`
  const stamp = async () => (await client.rest(secret, `${path}/${id}`)).body.data.updated_at
  await platform.unsafe(`update ${table} set ${change} where id = ${id}`)
  const { body } = await client.rest(secret, path)
  const since = `${path}?updated_since=${body.server_time}`
  await platform.unsafe(`update ${table} set ${change} where id = ${id}`)
  expect((await client.rest(secret, since)).body.data).toEqual([])
  await platform.unsafe(`update ${table} set created_at = '2020-01-01' where id = ${id}`)
  expect((await client.rest(secret, since)).body.data.map((record: { id: number }) => record.id)).toEqual([id])
  expect((await stamp()) > body.server_time).toBe(true)
})

test('a tenant gets a new stamp when it is changed, and not when another is', async () => {
  await build.tenant({ parent_id: tenantId })
  const stamp = async () => (await client.rest(secret, '/tenants')).body.data[0].updated_at
  const before = await stamp()
  await platform`update tenant set name = 'Child' where parent_id = ${tenantId}`
  await platform`update product set title = 'Other'`
  expect(await stamp()).toBe(before)
  await platform`update tenant set subdomain = 'world' where id = ${tenantId}`
  expect((await stamp()) > before).toBe(true)
})
