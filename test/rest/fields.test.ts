/** Each field of a record in v1, in the order of the contract. */
import { describe, expect, test } from 'vitest'
import { stampRecord } from '../support/builders.ts'
import { startService } from '../support/service.ts'

const { build, client, database } = await startService()

const max = Number.MAX_SAFE_INTEGER
const stamp = '2026-03-01 10:20:30.123456+01'
const shown = '2026-03-01T09:20:30.123456Z'
const sparseStamp = { created_at: '2026-01-01 00:00:00+00', updated_at: '2026-01-02 00:00:00.1+00' }
const [createdAt, updatedAt] = ['2026-01-01T00:00:00.000000Z', '2026-01-02T00:00:00.100000Z']

/**
 * Checks the one record of a new tenant, alone and in its list, as text: order and absence of keys are part of it.
 *
 * @param list the path of its list below the tenant
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

test('a tenant: full, sparse, and with ids beyond 32 bits', async () => {
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

test('server_time is the time of the answer, in the format of every date-time', async () => {
  const { secret } = await build.token([await build.tenant()])
  const before = Date.now()
  const { body } = await client.rest(secret, '/tenants')
  expect(body.server_time).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
  expect(Date.parse(body.server_time)).toBeGreaterThanOrEqual(before - 1000)
  expect(Date.parse(body.server_time)).toBeLessThanOrEqual(Date.now() + 1000)
})

describe('a catalog voucher', () => {
  test('sparse: nullable fields are null, and validity_type is omitted', async () => {
    const tenantId = await build.tenant()
    const id = await build.product(tenantId, { slug: 's', title: 'T', updated_at: stamp })
    const nothing = { summary: null, description_html: null, currency: 'GBP', price: null, sale_price: null }
    await expectRecord(tenantId, 'catalog/vouchers', id, {
      id,
      slug: 's',
      title: 'T',
      ...nothing,
      from_price: null,
      from_sale_price: null,
      monetary_value: null,
      is_monetary: false,
      allow_part_redeem: false,
      validity_months: null,
      redemption_info: null,
      sort_order: 0,
      image_url: null,
      image_urls: [],
      category_refs: [],
      variant_summaries: [],
      updated_at: shown,
    })
  })

  test('full: every field in the contract’s order, categories and variants by sort_order, then id', async () => {
    const tenantId = await build.tenant()
    const { secret } = await build.token([tenantId])
    const columns = {
      slug: 'spa-day',
      title: 'Spa “Day”',
      summary: '',
      description_html: '<p>ünï & <b>more</b></p>',
      currency: 'GBP',
      price: 100,
      sale_price: 80.5,
      monetary_value: 0,
      is_monetary: true,
      allow_part_redeem: true,
      validity_type: 'months',
      validity_months: 12,
      redemption_info: 'Show it.',
      sort_order: -3,
      image_url: 'https://img.example/1.png',
      image_urls: ['https://img.example/1.png', 'https://img.example/2,"x".png'],
    }
    const id = await build.product(tenantId, { id: max, ...columns })
    const variant = { currency: 'EUR', is_monetary: true, updated_at: stamp }
    const late = await build.variant(id, {
      slug: 'v2',
      title: 'V2',
      sort_order: 2,
      price: 30,
      sale_price: 29,
      ...variant,
    })
    const twin = await build.variant(id, { id: max, slug: 'v1b', title: 'V1b', sort_order: 1, updated_at: stamp })
    const early = await build.variant(id, { slug: 'v1', title: 'V1', sort_order: 1, price: 25.07, ...variant })
    const second = await build.category(tenantId, [id], { slug: 'c2', title: 'C2', sort_order: 5 })
    const first = await build.category(tenantId, [id], { slug: 'c1', title: 'C1', sort_order: -1 })
    const third = await build.category(tenantId, [id], { id: max, slug: 'c3', title: 'C3', sort_order: 5 })
    await stampRecord(database.platform, 'product', id, stamp)
    const categories = [
      { id: first, slug: 'c1', title: 'C1', sort_order: -1 },
      { id: second, slug: 'c2', title: 'C2', sort_order: 5 },
      { id: third, slug: 'c3', title: 'C3', sort_order: 5 },
    ]
    const shownVariant = (id: number, slug: string, price: number, sale_price: number | null, sort_order: number) => {
      const title = slug.toUpperCase()
      return { id, slug, title, price, sale_price, currency: 'EUR', is_monetary: true, sort_order, updated_at: shown }
    }
    const bare = {
      price: null,
      sale_price: null,
      currency: 'GBP',
      is_monetary: false,
      sort_order: 1,
      updated_at: shown,
    }
    const variants = [
      shownVariant(early, 'v1', 25.07, null, 1),
      { id: twin, slug: 'v1b', title: 'V1b', ...bare },
      shownVariant(late, 'v2', 30, 29, 2),
    ]
    const { slug, title, summary, description_html, currency, price, sale_price, monetary_value, ...rest } = columns
    const head = { id, slug, title, summary, description_html, currency, price, sale_price }
    const middle = { from_price: 25.07, from_sale_price: 29, monetary_value, ...rest }
    const refs = { category_refs: categories, variant_summaries: variants }
    const path = `/tenants/${tenantId}/catalog/vouchers`
    await expectRecord(tenantId, 'catalog/vouchers', id, { ...head, ...middle, ...refs, updated_at: shown })

    const including = async (include: string) => (await client.rest(secret, `${path}?include=${include}`)).text
    const both = { ...head, ...middle, ...refs, categories, variants, updated_at: shown }
    expect(await including('variants,categories')).toContain(`{"data":[${JSON.stringify(both)}]`)
    const one = { ...head, ...middle, ...refs, categories, updated_at: shown }
    expect(await including('categories')).toContain(`{"data":[${JSON.stringify(one)}]`)
    const other = { ...head, ...middle, ...refs, variants, updated_at: shown }
    expect(await including('variants')).toContain(`{"data":[${JSON.stringify(other)}]`)
  })
})

describe('a purchased voucher', () => {
  test('sparse: fields without a value are omitted', async () => {
    const tenantId = await build.tenant()
    const id = await build.voucher(tenantId, { reference: 'SPARSE', ...sparseStamp })
    const flags = { is_monetary: false, allow_part_redeem: false, void: false }
    const wanted = { id, reference: 'SPARSE', ...flags, created_at: createdAt, updated_at: updatedAt }
    await expectRecord(tenantId, 'sales/purchased-vouchers', id, wanted)
  })

  test('full: every field in the contract’s order, and no other', async () => {
    const tenantId = await build.tenant()
    const columns = {
      id: max,
      reference: 'FULL-1',
      initial_balance: 50,
      current_balance: 12.34,
      purchase_value: 45.5,
      currency: 'GBP',
      is_monetary: true,
      allow_part_redeem: true,
      void: true,
      order_id: max - 1,
      order_item_id: 5_000_000_000,
      product_id: max - 2,
      product_title: 'Spa',
      product_slug: 'spa',
      parent_product_id: 4_294_967_296,
      parent_product_title: 'All',
      purchase_timestamp: stamp,
      date_issued: stamp,
      date_valid_start: '2026-01-31',
      date_valid_end: '2028-02-29',
      date_scheduled: stamp,
      redemption_status: 'partially_redeemed',
      void_reason: 'refund',
      void_date: stamp,
      created_at: stamp,
      updated_at: stamp,
    }
    await build.voucher(tenantId, { ...columns, qr_token: 'QR', recipient_name: 'R', customer_name: 'C' })
    const wanted = Object.entries(columns).map(([key, value]) => [key, value === stamp ? shown : value])
    await expectRecord(tenantId, 'sales/purchased-vouchers', max, Object.fromEntries(wanted))
  })
})

describe('a marketing signup', () => {
  test('sparse: fields without a value are omitted', async () => {
    const tenantId = await build.tenant()
    const id = await build.customer(tenantId, sparseStamp)
    const wanted = { id, marketing_opted: true, created_at: createdAt, updated_at: updatedAt }
    await expectRecord(tenantId, 'customers/marketing-signups', id, wanted)
  })

  test('full: every field in the contract’s order', async () => {
    const tenantId = await build.tenant()
    const consent = { marketing_opted: true, consented_at: stamp, consent_source: 'checkout' }
    const address = { address_1: '1 High St', address_2: 'Flat 2', town: 'Leith', city: 'Edinburgh', county: 'Lothian' }
    const columns = {
      id: max,
      email: 'ann@example.org',
      ...consent,
      created_at: stamp,
      updated_at: stamp,
      forename: 'Ann',
      surname: '',
      full_name: 'Ann O’Neill',
      phone_number: '+44 131 496 0000',
      ...address,
      country: 'United Kingdom',
      countryiso2: 'GB',
      postcode: 'EH6 1AA',
    }
    await build.customer(tenantId, columns)
    const wanted = Object.entries(columns).map(([key, value]) => [key, value === stamp ? shown : value])
    await expectRecord(tenantId, 'customers/marketing-signups', max, Object.fromEntries(wanted))
  })
})
