/** Tests each field of a record in v1, in the order of the contract. */
import { describe, expect, test } from 'vitest'
import { stampRecord } from '../support/builders.ts'
import { startService } from '../support/service.ts'

const { build, client, platform } = await startService()

const max = Number.MAX_SAFE_INTEGER
const stamp = '2026-03-01 10:20:30.123456+01'
const shown = '2026-03-01T09:20:30.123456Z'
const sparseStamp = { created_at: '2026-01-01 00:00:00+00', updated_at: '2026-01-02 00:00:00.1+00' }
const [createdAt, updatedAt] = ['2026-01-01T00:00:00.000000Z', '2026-01-02T00:00:00.100000Z']

/**
 * Checks the only record of a tenant, read by id and in its list. Compares texts, so that the order and the absence of
 * keys count.
 *
 * @param list the path of the list below the tenant
 */
async function expectRecord(tenantId: number, list: string, id: number, wanted: object): Promise<void> {
  const { secret } = await build.token([tenantId])
  const path = `/tenants/${tenantId}/${list}`
  const one = await client.rest(secret, `${path}/${id}`)
  expect(one.text).toBe(JSON.stringify({ data: wanted }))
  const page = await client.rest(secret, path)
  expect(Object.keys(page.body)).toEqual(['data', 'next_cursor', 'server_time'])
  expect(page.text).toContain(`{"data":[${JSON.stringify(wanted)}],"next_cursor":null,`)
}

test('a tenant has every field, omits fields without a value, and may have an id beyond 32 bits', async () => {
  const root = await build.tenant({ id: 5_000_000_000, name: 'Root', updated_at: sparseStamp.updated_at })
  const full = { name: 'Leaf', subdomain: 'leaf', type: 'venue', parent_id: root, updated_at: stamp }
  await build.tenant({ id: max, ...full })
  const { secret } = await build.token([root, max])
  const { text } = await client.rest(secret, '/tenants')
  const wanted = [
    { tenant_id: root, name: 'Root', updated_at: updatedAt },
    { tenant_id: max, name: 'Leaf', subdomain: 'leaf', parent_id: root, type: 'venue', updated_at: shown },
  ]
  expect(text).toContain(`{"data":${JSON.stringify(wanted)},"next_cursor":null,"server_time":"`)
  expect(text).toContain('"tenant_id":9007199254740991')
})

test('in a sparse catalog voucher, nullable fields are null, and validity_type is omitted', async () => {
  const tenantId = await build.tenant()
  const id = await build.product(tenantId, { slug: 's', title: 'T', updated_at: stamp })
  const prices = { currency: 'GBP', price: null, sale_price: null, from_price: null, from_sale_price: null }
  const flags = { monetary_value: null, is_monetary: false, allow_part_redeem: false, validity_months: null }
  const shop = { redemption_info: null, sort_order: 0, image_url: null, image_urls: [] }
  await expectRecord(tenantId, 'catalog/vouchers', id, {
    ...{ id, slug: 's', title: 'T', summary: null, description_html: null },
    ...{ ...prices, ...flags, ...shop, category_refs: [], variant_summaries: [], updated_at: shown },
  })
})

test('a full catalog voucher has all fields in order, and categories and variants by sort_order, then id', async () => {
  const tenantId = await build.tenant()
  const { secret } = await build.token([tenantId])
  const texts = { slug: 'spa-day', title: 'Spa “Day”', summary: '', description_html: '<p>ünï & <b>more</b></p>' }
  const prices = { currency: 'GBP', price: 100, sale_price: 80.5 }
  const others = {
    ...{ monetary_value: 0, is_monetary: true, allow_part_redeem: true, validity_type: 'months', validity_months: 12 },
    ...{ redemption_info: 'Show it.', sort_order: -3, image_url: 'https://img.example/1.png' },
    image_urls: ['https://img.example/1.png', 'https://img.example/2,"x".png'],
  }
  const id = await build.product(tenantId, { id: max, ...texts, ...prices, ...others })
  const addVariant = async (given: Parameters<typeof build.variant>[1]) => {
    const variantId = await build.variant(id, { ...given, updated_at: stamp })
    return { id: variantId, ...given, updated_at: shown }
  }
  const second = { price: 30, sale_price: 29, currency: 'EUR', is_monetary: true, sort_order: 2 }
  const first = { price: 25.07, sale_price: null, currency: 'EUR', is_monetary: true, sort_order: 1 }
  const bare = { price: null, sale_price: null, currency: 'GBP', is_monetary: false, sort_order: 1 }
  const late = await addVariant({ slug: 'v2', title: 'V2', ...second })
  const twin = await addVariant({ id: max, slug: 'v1b', title: 'V1b', ...bare })
  const early = await addVariant({ slug: 'v1', title: 'V1', ...first })
  const addCategory = async (given: Parameters<typeof build.category>[2]) => {
    const categoryId = await build.category(tenantId, [id], given)
    return { id: categoryId, ...given }
  }
  const middle = await addCategory({ slug: 'c2', title: 'C2', sort_order: 5 })
  const front = await addCategory({ slug: 'c1', title: 'C1', sort_order: -1 })
  const end = await addCategory({ id: max, slug: 'c3', title: 'C3', sort_order: 5 })
  await stampRecord(platform, 'product', id, stamp)
  const variants = [early, twin, late]
  const categories = [front, middle, end]
  const own = { id, ...texts, ...prices, from_price: 25.07, from_sale_price: 29, ...others }
  const record = { ...own, category_refs: categories, variant_summaries: variants }
  const path = 'catalog/vouchers'
  await expectRecord(tenantId, path, id, { ...record, updated_at: shown })

  for (const [include, added] of [
    ['variants,categories', { categories, variants }],
    ['categories', { categories }],
    ['variants', { variants }],
  ] as const) {
    const { text } = await client.rest(secret, `/tenants/${tenantId}/${path}?include=${include}`)
    expect(text).toContain(`{"data":[${JSON.stringify({ ...record, ...added, updated_at: shown })}]`)
  }
})

const voucherColumns = {
  ...{ id: max, reference: 'FULL-1', initial_balance: 50, current_balance: 12.34, purchase_value: 45.5 },
  ...{ currency: 'GBP', is_monetary: true, allow_part_redeem: true, void: true },
  ...{ order_id: max - 1, order_item_id: 5e9, product_id: max - 2, product_title: 'Spa', product_slug: 'spa' },
  ...{ parent_product_id: 4_294_967_296, parent_product_title: 'All', purchase_timestamp: stamp, date_issued: stamp },
  ...{ date_valid_start: '2026-01-31', date_valid_end: '2028-02-29', date_scheduled: stamp },
  ...{ redemption_status: 'partially_redeemed', void_reason: 'refund', void_date: stamp },
  ...{ created_at: stamp, updated_at: stamp },
}

const signupColumns = {
  ...{ id: max, email: 'ann@example.org', marketing_opted: true, consented_at: stamp, consent_source: 'checkout' },
  ...{ created_at: stamp, updated_at: stamp, forename: 'Ann', surname: '', full_name: 'Ann O’Neill' },
  ...{ phone_number: '+44 131 496 0000', address_1: '1 High St', address_2: 'Flat 2', town: 'Leith' },
  ...{ city: 'Edinburgh', county: 'Lothian', country: 'United Kingdom', countryiso2: 'GB', postcode: 'EH6 1AA' },
}

describe.each([
  {
    ...{ what: 'a purchased voucher', list: 'sales/purchased-vouchers', make: build.voucher, full: voucherColumns },
    sparse: { reference: 'SPARSE', is_monetary: false, allow_part_redeem: false, void: false },
    hidden: { qr_token: 'QR', recipient_name: 'R', customer_name: 'C' },
  },
  {
    ...{ what: 'a marketing signup', list: 'customers/marketing-signups', make: build.customer, full: signupColumns },
    ...{ sparse: { marketing_opted: true }, hidden: {} },
  },
])('$what', ({ list, make, sparse, full, hidden }) => {
  test('a sparse record omits fields without a value', async () => {
    const tenantId = await build.tenant()
    const id = await make(tenantId, { ...sparse, ...sparseStamp })
    await expectRecord(tenantId, list, id, { id, ...sparse, created_at: createdAt, updated_at: updatedAt })
  })

  test('a full record has every field in the contract’s order, and no other', async () => {
    const tenantId = await build.tenant()
    await make(tenantId, { ...full, ...hidden })
    const wanted = Object.entries(full).map(([key, value]) => [key, value === stamp ? shown : value])
    await expectRecord(tenantId, list, max, Object.fromEntries(wanted))
  })
})

test.each([
  ['JPY', { '0': '0', '999999999999': '999999999999' }],
  ['GBP', { '25.00': '25', '0.10': '0.1', '0.29': '0.29', '1.005e2': '100.5', '999999999999.99': '999999999999.99' }],
  ['KWD', { '0.001': '0.001', '4.355': '4.355', '999999999999.999': '999999999999.999' }],
])('money in %s is a number that is exact to the minor unit', async (currency, amounts) => {
  const tenantId = await build.tenant()
  const { secret } = await build.token([tenantId])
  for (const [given, shown] of Object.entries(amounts)) {
    const voucher = await build.voucher(tenantId, { currency, initial_balance: given, current_balance: given })
    const { text } = await client.rest(secret, `/tenants/${tenantId}/sales/purchased-vouchers/${voucher}`)
    expect(text).toContain(`"initial_balance":${shown},"current_balance":${shown},"currency":"${currency}"`)
    const product = await build.product(tenantId, { currency, price: 1 })
    await build.variant(product, { currency, price: given })
    const answer = await client.rest(secret, `/tenants/${tenantId}/catalog/vouchers/${product}`)
    expect(answer.text).toContain(`"from_price":${shown},`)
  }
})

test('the lowest price is the lowest price of all variants that have one', async () => {
  const tenantId = await build.tenant()
  const id = await build.product(tenantId, { price: 1 })
  await build.variant(id, { price: 30, sale_price: null })
  await build.variant(id, { price: 9.99, sale_price: 9.5 })
  await build.variant(id, { price: 10, sale_price: 0 })
  await build.variant(id, {})
  const { secret } = await build.token([tenantId])
  const { body } = await client.rest(secret, `/tenants/${tenantId}/catalog/vouchers/${id}`)
  expect(body.data).toMatchObject({ from_price: 9.99, from_sale_price: 0 })
})
