import { type GraphQLField, getNamedType, isLeafType, isObjectType } from 'graphql'
import { describe, expect, it } from 'vitest'
import { schema } from '../../src/graphql/schema.ts'
import { startService } from '../support/service.ts'

type Json = Record<string, unknown>

const { build, client } = await startService()
const parent = await build.tenant()
const tenantId = await build.tenant({
  name: 'Zür “ich” \\ 雪',
  parent_id: parent,
  subdomain: 'zurich',
  type: 'brand',
  updated_at: '2026-03-29T01:30:00.1Z',
})
const { secret } = await build.token([parent, tenantId])

/** @returns whether a field leads to another record */
const isLink = ({ type }: GraphQLField<unknown, unknown>) => {
  const inner = getNamedType(type)
  return isObjectType(inner) && inner.getInterfaces().length > 0
}

/** Fields that v1 does not have, besides global ids and links. */
const ownFields = ['Tenant.timeZone', 'PurchasedVoucher.status']

/** Selects all fields of a type but those that v1 does not have. */
function selectionOf(typeName: string): string {
  const type = schema.getType(typeName)
  if (!isObjectType(type)) throw new Error(`${typeName} is no object type`)
  return Object.values(type.getFields())
    .filter(field => field.args.length === 0 && field.name !== 'id' && !isLink(field))
    .filter(field => !ownFields.includes(`${typeName}.${field.name}`))
    .map(field => {
      const inner = getNamedType(field.type)
      return isLeafType(inner) ? field.name : `${field.name} { ${selectionOf(inner.name)} }`
    })
    .join(' ')
}

const v1Names: Record<string, string> = {
  id: 'databaseId',
  tenant_id: 'databaseId',
  category_refs: 'categories',
  variant_summaries: 'variants',
}

/** A record of v1 with the names of GraphQL. */
function inGraphql(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inGraphql)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      v1Names[name] ?? name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()),
      inGraphql(inner),
    ]),
  )
}

/** Leaves out null values, as v1 does (R11). */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([, inner]) => inner !== null)
  return Object.fromEntries(kept.map(([name, inner]) => [name, withoutNulls(inner)]))
}

/** @param values parts that the text of the record must contain */
function expectParity(rest: Json, record: Json, ...values: string[]): void {
  expect(withoutNulls(record)).toEqual(withoutNulls(inGraphql(rest)))
  for (const name of Object.keys(Object(inGraphql(rest)))) expect(record).toHaveProperty(name)
  for (const value of values) expect(JSON.stringify(rest)).toContain(value)
}

const nouns = [
  { type: 'CatalogVoucher', field: 'catalogVoucher', path: 'catalog/vouchers' },
  { type: 'PurchasedVoucher', field: 'purchasedVoucher', path: 'sales/purchased-vouchers' },
  { type: 'MarketingSignup', field: 'marketingSignup', path: 'customers/marketing-signups' },
]

/** The record by id and in its list, over both transports. */
async function expectSame(type: string, id: number, ...values: string[]): Promise<void> {
  const { field, path } = nouns.find(noun => noun.type === type)!
  const selection = selectionOf(type)
  const both = `one: ${field}(id: ${id}) { ${selection} } many: ${field}s { nodes { ${selection} } }`
  const data = await client.read(secret, `{ tenant(id: ${tenantId}) { ${both} } }`)
  const one = (await client.rest(secret, `/tenants/${tenantId}/${path}/${id}`)).body.data
  const many = (await client.rest(secret, `/tenants/${tenantId}/${path}`)).body.data
  expectParity(one, data.tenant.one, ...values)
  expect(many.map((record: { id: number }) => record.id)).toEqual(
    data.tenant.many.nodes.map((record: { databaseId: number }) => record.databaseId),
  )
  for (const [index, record] of data.tenant.many.nodes.entries()) expectParity(many[index], record)
}

describe('REST and GraphQL return the same', () => {
  it('of tenants', async () => {
    const { body } = await client.graphql(secret, `{ tenants { nodes { ${selectionOf('Tenant')} } } }`)
    const rest = (await client.rest(secret, '/tenants')).body.data
    expect(rest).toHaveLength(2)
    for (const [index, record] of body.data.tenants.nodes.entries()) expectParity(rest[index], record)
    expect(JSON.stringify(rest)).toContain('"updated_at":"2026-03-29T01:30:00.100000Z"')
  })

  it('of a full product', async () => {
    const id = await build.product(tenantId, {
      id: 9_007_199_254_740_991,
      summary: 'A <b>treat</b>\u2028',
      description_html: '<p>"x" & y</p>',
      price: 0.07,
      sale_price: 25.5,
      monetary_value: 999_999_999_999.99,
      is_monetary: true,
      allow_part_redeem: true,
      validity_type: 'months',
      validity_months: 12,
      redemption_info: 'Show it.',
      sort_order: -3,
      image_url: 'https://cdn.example/1.jpg',
      image_urls: ['https://cdn.example/1.jpg', 'a,"b"'],
      updated_at: '2026-01-02T03:04:05.000006Z',
    })
    await build.category(tenantId, [id], { sort_order: 2 })
    await build.category(tenantId, [id], { sort_order: 1 })
    await build.variant(id, { price: 1.234, sale_price: 1, currency: 'KWD', updated_at: null })
    await build.variant(id, { price: 100, currency: 'JPY', is_monetary: true, sort_order: -1 })
    await expectSame(
      'CatalogVoucher',
      id,
      '"price":0.07,"sale_price":25.5,"from_price":1.234,"from_sale_price":1,',
      '999999999999.99',
      '"updated_at":"2026-01-02T03:04:05.000006Z"',
      '9007199254740991',
    )
  })

  it('of a sparse product', async () => {
    await expectSame('CatalogVoucher', await build.product(tenantId, { updated_at: null }), '"updated_at":null')
  })

  it('of a full voucher', async () => {
    const id = await build.voucher(tenantId, {
      reference: 'Full-1',
      initial_balance: 1.234,
      current_balance: 0,
      purchase_value: 0.001,
      currency: 'BHD',
      is_monetary: true,
      allow_part_redeem: true,
      void: true,
      order_id: 5_000_000_000,
      order_item_id: 5_000_000_001,
      product_id: 5_000_000_002,
      product_title: 'Tea',
      product_slug: 'tea',
      parent_product_id: 5_000_000_003,
      parent_product_title: 'Teas',
      purchase_timestamp: '2026-01-01T23:59:59.999999Z',
      date_issued: '2026-01-02T00:00:00+02:00',
      date_valid_start: '2024-02-29',
      date_valid_end: '9999-12-31',
      date_scheduled: '2026-06-01T12:00:00Z',
      redemption_status: 'partial',
      void_reason: 'refund',
      void_date: '0001-01-01T00:00:00Z',
    })
    await expectSame(
      'PurchasedVoucher',
      id,
      '"initial_balance":1.234,"current_balance":0,"purchase_value":0.001',
      '"date_valid_start":"2024-02-29","date_valid_end":"9999-12-31"',
      '"date_issued":"2026-01-01T22:00:00.000000Z"',
      '"void_date":"0001-01-01T00:00:00.000000Z"',
    )
  })

  it('of a sparse voucher', async () => {
    await expectSame('PurchasedVoucher', await build.voucher(tenantId))
  })

  it('of a full and a sparse customer', async () => {
    const id = await build.customer(tenantId, {
      email: 'a@example.org',
      consented_at: '2025-05-05T05:05:05.050505Z',
      consent_source: 'checkout',
      ...Object.fromEntries(
        ['forename', 'surname', 'full_name', 'phone_number', 'address_1', 'address_2', 'town', 'city', 'county']
          .concat('country', 'postcode')
          .map(name => [name, `${name} Ünï`]),
      ),
      countryiso2: 'GB',
    })
    await expectSame('MarketingSignup', id, '"address_1":"address_1 Ünï"')
    await expectSame('MarketingSignup', await build.customer(tenantId))
  })

  it('of a resolution', async () => {
    await build.voucher(tenantId, {
      reference: 'Res',
      recipient_name: 'Ann',
      date_valid_end: '2020-02-02',
      currency: 'GBP',
      current_balance: 0.1,
    })
    const input = `{ tenantId: ${tenantId}, voucherReference: "res" }`
    const { body } = await client.graphql(
      secret,
      `mutation { resolveVoucher(input: ${input}) { ${selectionOf('Resolution')} } }`,
    )
    const rest = (await client.resolve(secret, tenantId, { voucher_reference: 'RES' })).body.data
    expectParity(rest, body.data.resolveVoucher, '"reason_code":"expired"', '"current_balance":0.1')
  })
})
