import { expect, test } from 'vitest'
import { createWorld } from './support.ts'

const { client, build, platform, place, secret, tenantId } = await createWorld()
const vouchers = `/tenants/${tenantId}/sales/purchased-vouchers`
const products = `/tenants/${tenantId}/catalog/vouchers`

/** An amount in SQL, and in the text of the answer. */
const amounts: Record<string, Record<string, string>> = {
  JPY: { '0': '0', '1500': '1500', '999999999999': '999999999999' },
  GBP: {
    '25.00': '25',
    '25.50': '25.5',
    '0.07': '0.07',
    '0.10': '0.1',
    '0.29': '0.29',
    '1.005e2': '100.5',
    '4.35': '4.35',
    '9999999999.99': '9999999999.99',
    '999999999999.99': '999999999999.99',
  },
  KWD: { '0.001': '0.001', '1.100': '1.1', '4.355': '4.355', '999999999999.999': '999999999999.999' },
}

test.each(Object.entries(amounts))('money in %s is exact to the minor unit, and a number', async (currency, table) => {
  for (const [given, shown] of Object.entries(table)) {
    await platform`update purchased_voucher set currency = ${currency}, initial_balance = ${given}::text::numeric,
      current_balance = ${given}::text::numeric, purchase_value = ${given}::text::numeric where id = ${place.voucher}`
    const voucher = await client.rest(secret, `${vouchers}/${place.voucher}`)
    for (const key of ['initial_balance', 'current_balance', 'purchase_value']) {
      expect(voucher.text).toContain(`"${key}":${shown},`)
    }
    const resolved = await client.resolve(secret, tenantId, { voucher_reference: voucher.body.data.reference })
    expect(resolved.text).toContain(`"current_balance":${shown},"initial_balance":${shown},"currency":"${currency}"`)

    await platform`update product set currency = ${currency}, price = ${given}::text::numeric,
      sale_price = ${given}::text::numeric, monetary_value = ${given}::text::numeric where id = ${place.product}`
    await platform`delete from variant where product_id = ${place.product}`
    await platform`insert into variant (product_id, slug, title, currency, price, sale_price) values
      (${place.product}, 'v', 'V', ${currency}, ${given}::text::numeric, ${given}::text::numeric)`
    const product = await client.rest(secret, `${products}/${place.product}`)
    for (const key of ['price', 'sale_price', 'from_price', 'from_sale_price', 'monetary_value']) {
      expect(product.text).toContain(`"${key}":${shown},`)
    }
    expect(product.text).toContain(`"title":"V","price":${shown},"sale_price":${shown},`)
  }
})

test('the lowest price is the lowest amount of all variants with a price', async () => {
  const id = await build.product(tenantId, { price: 1 })
  await build.variant(id, { price: 30, sale_price: null })
  await build.variant(id, { price: 9.99, sale_price: 9.5 })
  await build.variant(id, { price: 10, sale_price: 0 })
  await build.variant(id, {})
  const { body } = await client.rest(secret, `${products}/${id}`)
  expect([body.data.from_price, body.data.from_sale_price]).toEqual([9.99, 0])
})
