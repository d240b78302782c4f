/** The platform may link products with categories of any tenant: a product shows the categories of its own. */
import { expect, it } from 'vitest'
import { startService } from '../support/service.ts'

const { build, client, database } = await startService()
const { platform } = database
const [tenant, other] = [await build.tenant(), await build.tenant()]
const { secret } = await build.token([tenant, other])

type Ids = Record<'product' | 'own' | 'foreign', number>

it.each<[string, number, string, (ids: Ids) => PromiseLike<unknown>]>([
  ['a link to a category of another tenant is not shown', tenant, 'Own', async () => {}],
  [
    'a product that moves shows the categories of its new tenant',
    other,
    'Foreign',
    ({ product }) => platform`update product set tenant_id = ${other} where id = ${product}`,
  ],
  [
    'a category that moves leaves the products of its former tenant, and joins the products of the new one',
    tenant,
    'Foreign',
    ({ own, foreign }) => platform`
      update category set tenant_id = case id when ${own} then ${other}::bigint else ${tenant}::bigint end
      where id in (${own}, ${foreign})`,
  ],
])('%s', async (_, at, title, move) => {
  const product = await build.product(tenant)
  const own = await build.category(tenant, [product], { title: 'Own' })
  const foreign = await build.category(other, [product], { title: 'Foreign' })
  await move({ product, own, foreign })
  const { body } = await client.rest(secret, `/tenants/${at}/catalog/vouchers?include=categories`)
  const { categories, category_refs } = body.data.find(({ id }: { id: number }) => id === product)
  expect(categories).toMatchObject([{ title }])
  expect(categories).toEqual(category_refs)
})
