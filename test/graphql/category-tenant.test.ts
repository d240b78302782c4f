/** The platform may link products with categories of any tenant: a product shows the categories of its own. */
import { beforeEach, expect, it } from 'vitest'
import { startService } from '../support/service.ts'

const { build, client, database } = await startService()
const { platform } = database
const tenant = await build.tenant()
const other = await build.tenant()
const { secret } = await build.token([tenant, other])

let product: number
let own: number
let foreign: number

beforeEach(async () => {
  product = await build.product(tenant)
  own = await build.category(tenant, [product], { title: 'Own' })
  foreign = await build.category(other, [product], { title: 'Foreign' })
})

/** Returns the titles of the product's categories, which are the same in both fields of v1. */
async function readTitles(at: number): Promise<string[]> {
  const { body } = await client.rest(secret, `/tenants/${at}/catalog/vouchers?include=categories`)
  const { categories, category_refs } = body.data.find(({ id }: { id: number }) => id === product)
  expect(categories).toEqual(category_refs)
  return categories.map(({ title }: { title: string }) => title)
}

it('a link to a category of another tenant is not shown', async () => {
  expect(await readTitles(tenant)).toEqual(['Own'])
})

it('a product that moves shows the categories of its new tenant', async () => {
  await platform`update product set tenant_id = ${other} where id = ${product}`
  expect(await readTitles(other)).toEqual(['Foreign'])
})

it('a category that moves leaves the products of its former tenant, and joins the products of the new one', async () => {
  await platform`update category set tenant_id = case id when ${own} then ${other}::bigint else ${tenant}::bigint end
                 where id in (${own}, ${foreign})`
  expect(await readTitles(tenant)).toEqual(['Foreign'])
})
