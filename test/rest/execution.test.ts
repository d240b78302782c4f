import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Permission, permissionNames } from '../../src/domain/token/permission.ts'
import { prepareOperation } from '../../src/rest/prepare-operation.ts'
import * as documents from '../../src/rest/v1/operations.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { createContexts, outcomeOf } from '../support/gateway.ts'
import { prepareWithGraphqlJs } from '../support/graphql-js.ts'

const database = await createDatabase()
const { pool } = database
const build = createBuilders(database)

const contextOf = createContexts(pool)

/** Both ways of running each document. */
const operations = new Map(
  Object.entries(documents).map(([name, document]) => [
    name,
    [prepareOperation(document), prepareWithGraphqlJs(document)],
  ]),
)

type Name = keyof typeof documents

interface Asking {
  tenants: number[]
  permissions?: readonly Permission[]
}

/** Returns the outcomes of both ways of running a document. */
async function bothWays(name: Name, variables: object, { tenants, permissions = permissionNames }: Asking) {
  const outcomes: unknown[] = []
  for (const run of operations.get(name)!) {
    const context = contextOf({ tokenId, tenants, permissions })
    const outcome = await outcomeOf(() => run(context, variables))
    outcomes.push(outcome.body === undefined ? outcome : { body: comparable(outcome.body) })
  }
  return outcomes
}

const { id: tokenId } = await build.token([])

/** A body without what differs from one answer to the next. */
const comparable = (body: string) =>
  body
    .replace(/"server_time":"[^"]*"/, '"server_time":"an instant"')
    .replace(/"(next_cursor|redemption_token)":"[^"]*"/, '"$1":"a secret"')

/** Texts that are hard to write: quotes, controls, separators, the mark of a packed text, pairs of surrogates. */
const text = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '"',
        '\\',
        '\x1e',
        '\x1f',
        '+',
        '\n',
        '\t',
        '\x01',
        '\x7f',
        '\u2028',
        '𝄞',
        '😀',
        'é',
        '',
        ' ',
        '/',
      ),
      fc.string({ maxLength: 5 }),
      fc.string({ unit: 'binary', maxLength: 5 }),
    ),
    { maxLength: 6 },
  )
  .map(parts => parts.join('').replaceAll('\0', ''))
const filled = text.map(value => `x${value}`)
const optional = <Value>(value: fc.Arbitrary<Value>) => fc.option(value, { freq: 3 })
const id = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 2 ** 31, max: Number.MAX_SAFE_INTEGER }))
const instant = fc
  .tuple(fc.integer({ min: -62_135_596_800, max: 253_402_300_799 }), fc.integer({ min: 0, max: 999_999 }))
  .map(([second, micro]) => `${new Date(second * 1000).toISOString().slice(0, 19)}.${String(micro).padStart(6, '0')}Z`)
const day = instant.map(value => value.slice(0, 10))
const digitsOf = { GBP: 2, JPY: 0, KWD: 3 } as const
const currency = fc.constantFrom(...(Object.keys(digitsOf) as (keyof typeof digitsOf)[]))
const amount = (code: keyof typeof digitsOf) =>
  fc
    .oneof(fc.integer({ min: 0, max: 99_999 }), fc.integer({ min: 0, max: 999_999_999_999 }))
    // With and without the zeros that numeric keeps.
    .chain(units => fc.constantFrom((units / 10 ** digitsOf[code]).toFixed(digitsOf[code]), `${units % 1e9}`))

const voucher = currency.chain(code =>
  fc.record({
    reference: filled.map(value => `${value.replaceAll(/\s/g, '_')}x`),
    currency: fc.constant(code),
    initial_balance: optional(amount(code)),
    current_balance: optional(amount(code)),
    purchase_value: optional(amount(code)),
    is_monetary: fc.boolean(),
    allow_part_redeem: fc.boolean(),
    void: fc.boolean(),
    order_id: optional(id),
    order_item_id: optional(id),
    product_id: optional(id),
    product_title: optional(text),
    product_slug: optional(text),
    parent_product_id: optional(id),
    parent_product_title: optional(text),
    purchase_timestamp: optional(instant),
    date_issued: optional(instant),
    date_valid_start: optional(day.filter(value => value < '2020')),
    date_valid_end: optional(day.filter(value => value >= '2020')),
    date_scheduled: optional(instant),
    redemption_status: optional(filled),
    void_reason: optional(filled),
    void_date: optional(instant),
    recipient_name: optional(text),
    customer_name: optional(text),
    created_at: instant,
  }),
)
const product = currency.chain(code =>
  fc.record({
    slug: text,
    title: text,
    summary: optional(text),
    description_html: optional(text),
    currency: fc.constant(code),
    price: optional(amount(code)),
    sale_price: optional(amount(code)),
    monetary_value: optional(amount(code)),
    is_monetary: fc.boolean(),
    allow_part_redeem: fc.boolean(),
    validity_type: optional(filled),
    validity_months: optional(fc.nat(1000)),
    redemption_info: optional(text),
    sort_order: fc.integer({ min: -(2 ** 31), max: 2 ** 31 - 1 }),
    image_url: optional(text),
    image_urls: fc.array(text, { maxLength: 3 }),
  }),
)
const variant = currency.chain(code =>
  fc.record({
    slug: text,
    title: text,
    price: optional(amount(code)),
    sale_price: optional(amount(code)),
    currency: fc.constant(code),
    is_monetary: fc.boolean(),
    sort_order: fc.integer({ min: -3, max: 3 }),
  }),
)
const category = fc.record({ slug: text, title: text, sort_order: fc.integer({ min: -3, max: 3 }) })
const customer = fc.record({
  email: optional(fc.constantFrom('a@b', '"q"@\x1f.example', 'ü@ß.example')),
  consented_at: optional(instant),
  consent_source: optional(filled),
  created_at: instant,
  forename: optional(text),
  surname: optional(text),
  full_name: optional(text),
  phone_number: optional(text),
  address_1: optional(text),
  address_2: optional(text),
  town: optional(text),
  city: optional(text),
  county: optional(text),
  country: optional(text),
  countryiso2: optional(fc.constantFrom('DE', 'gb')),
  postcode: optional(text),
})
const tenant = fc.record({ name: filled, subdomain: optional(filled), type: optional(filled) })

test('generated records: the executor and graphql-js give the same body for every document', {
  timeout: 120_000,
}, async () => {
  let references = 0
  const world = fc.record({
    tenant,
    vouchers: fc.array(voucher, { maxLength: 4 }),
    products: fc.array(
      fc.record({
        product,
        variants: fc.array(variant, { maxLength: 3 }),
        categories: fc.array(category, { maxLength: 3 }),
      }),
      { maxLength: 3 },
    ),
    customers: fc.array(customer, { maxLength: 3 }),
  })
  await fc.assert(
    fc.asyncProperty(world, async ({ tenant, vouchers, products, customers }) => {
      const tenantId = await build.tenant(tenant)
      await database.platform`insert into gateway.token_tenant (token_id, tenant_id) values (${tokenId}, ${tenantId})`
      const asker = { tenants: [tenantId] }
      const same = async (name: Name, variables: object) => {
        const [fast, ordinary] = await bothWays(name, variables, asker)
        expect(fast).toEqual(ordinary)
        expect(fast).toHaveProperty('body')
        return fast as { body: string }
      }
      // Both ways read the same rows, so that they agree says nothing of how these are read.
      const holds = ({ body }: { body: string }, columns: Record<string, unknown>, names: readonly string[]) => {
        const { data } = JSON.parse(body)
        for (const name of names) expect(data[name] ?? null, name).toEqual(columns[name] ?? null)
      }
      const at = { tenant: String(tenantId) }
      for (const columns of vouchers) {
        const reference = `${columns.reference}${++references}`
        const id = await build.voucher(tenantId, { ...columns, reference })
        const found = await same('GetPurchasedVoucher', { ...at, voucher: String(id) })
        holds(found, columns, [
          'product_title',
          'product_slug',
          'order_id',
          'is_monetary',
          'void_date',
          'date_valid_end',
        ])
        await same('ResolveVoucher', { ...at, voucher_reference: reference })
      }
      for (const { product, variants, categories } of products) {
        const id = await build.product(tenantId, product)
        for (const columns of variants) await build.variant(id, columns)
        for (const columns of categories) await build.category(tenantId, [id], columns)
        const found = await same('GetCatalogVoucher', { ...at, product: String(id) })
        holds(found, product, ['title', 'summary', 'description_html', 'validity_months', 'image_urls', 'image_url'])
      }
      for (const columns of customers) {
        const id = await build.customer(tenantId, columns)
        const found = await same('GetMarketingSignup', { ...at, customer: String(id) })
        holds(found, columns, ['email', 'forename', 'full_name', 'address_1', 'consented_at', 'postcode'])
      }
      await same('ListTenants', {})
      await same('ListPurchasedVouchers', at)
      await same('ListMarketingSignups', at)
      for (const categories of [false, true]) {
        for (const variants of [false, true]) await same('ListCatalogVouchers', { ...at, categories, variants })
      }
    }),
    { numRuns: 40 },
  )
})

describe('the executor and graphql-js throw the same error for', async () => {
  const own = await build.tenant()
  const foreign = await build.tenant()
  const id = await build.voucher(foreign)
  const lists = { categories: true, variants: true }
  const refused: [why: string, name: Name, variables: object, asker: Asking][] = [
    ['a tenant that does not exist', 'ListPurchasedVouchers', { tenant: '0' }, { tenants: [own] }],
    [
      'a tenant that the token does not grant',
      'ListCatalogVouchers',
      { tenant: String(foreign), ...lists },
      { tenants: [own] },
    ],
    [
      'a missing permission',
      'ListPurchasedVouchers',
      { tenant: String(own) },
      { tenants: [own], permissions: ['view_vouchers'] },
    ],
    [
      'a missing permission of a resolution',
      'ResolveVoucher',
      { tenant: String(own), voucher_reference: 'x' },
      { tenants: [own], permissions: [] },
    ],
    [
      'a record of another tenant',
      'GetPurchasedVoucher',
      { tenant: String(own), voucher: String(id) },
      { tenants: [own] },
    ],
    ['an invalid cursor', 'ListMarketingSignups', { tenant: String(own), cursor: 'x' }, { tenants: [own] }],
    ['an invalid time', 'ListTenants', { updated_since: 'yesterday' }, { tenants: [own] }],
    ['neither token nor reference', 'ResolveVoucher', { tenant: String(own) }, { tenants: [own] }],
  ]
  test.each(refused)('%s', async (_why, name, variables, asker) => {
    const [fast, ordinary] = await bothWays(name, variables, asker)
    expect(fast).toEqual(ordinary)
    expect(fast).toHaveProperty('thrown.code')
  })
})
