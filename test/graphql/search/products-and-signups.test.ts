import { randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, it } from 'vitest'
import { listExports } from '../../../src/domain/record/export.ts'
import { type Client, createApp } from '../../support/app.ts'
import { createBuilders } from '../../support/builders.ts'
import { createDatabase, type TestDatabase } from '../../support/database.ts'
import { followed } from '../../support/followed.ts'
import { type Asked, ask, byKey, createDraw, list, walk } from './support.ts'

interface Product {
  id: number
  tenantId: number
  title: string
  currency: string
  price: number | null
  isMonetary: boolean
  sortOrder: number
  categories: number[]
  updatedAt: string | null
}

interface Signup {
  id: number
  tenantId: number
  fullName: string | null
  forename: string | null
  surname: string | null
  email: string | null
  source: string | null
  consentedAt: string | null
  opted: boolean
  updatedAt: string
}

const draw = createDraw(11)
const products: Product[] = []
const signups: Signup[] = []
let database: TestDatabase
let client: Client
let build: ReturnType<typeof createBuilders>
let secret: string
let top: number
let tenants: number[]
let categories: number[]

beforeAll(async () => {
  database = await createDatabase()
  client = await createApp(database)
  build = createBuilders(database)
  top = await build.tenant()
  const below = await build.tenant({ parent_id: top })
  const other = await build.tenant()
  tenants = [top, below]
  secret = (await build.token([{ tenantId: top, withDescendants: true }])).secret
  categories = [await build.category(top), await build.category(top), await build.category(top)]
  const stamps = ['2026-01-01T00:00:00.000001Z', '2026-02-01T00:00:00.000000Z']
  for (let n = 0; n < 60; n++) {
    const tenantId = draw([top, top, below, other])
    const product = {
      tenantId,
      title: draw(['Tea for two', 'tea', 'Überraschung', 'Spa 100%', 'x'.repeat(300)]),
      currency: draw(['GBP', 'EUR']),
      price: draw([null, 0, 10, 99.5]),
      isMonetary: draw([true, false]),
      sortOrder: draw([0, 1, 2, -3]),
      updatedAt: draw([null, ...stamps]),
    }
    const { title, currency, price } = product
    const id = await build.product(tenantId, {
      ...{ title, currency, price, updated_at: product.updatedAt },
      ...{ is_monetary: product.isMonetary, sort_order: product.sortOrder },
    })
    const linked = tenantId === top ? categories.filter(() => draw([true, false, false])) : []
    for (const category of linked) {
      await database.loader`insert into product_category (product_id, category_id) values (${id}, ${category})`
    }
    // A link stamps the product.
    await database.loader`update product set updated_at = ${product.updatedAt}::text::timestamptz where id = ${id}`
    products.push({ ...product, id, categories: linked })
  }
  for (let n = 0; n < 60; n++) {
    const signup = {
      tenantId: draw([top, top, below, other]),
      fullName: draw([null, null, 'Ann Lee', 'José Ñandú']),
      forename: draw([null, 'Ann', 'bob']),
      surname: draw([null, 'Lee', 'O’Neil']),
      email: draw([null, `ann${n}@example.com`, `B_${n}@lee.example`]),
      source: draw([null, 'web', 'fair']),
      consentedAt: draw([null, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']),
      opted: draw([true, true, true, false]),
      updatedAt: draw(stamps),
    }
    const { tenantId, forename, surname, email } = signup
    const id = await build.customer(tenantId, {
      ...{ forename, surname, email, full_name: signup.fullName, marketing_opted: signup.opted },
      ...{ consent_source: signup.source, consented_at: signup.consentedAt, updated_at: signup.updatedAt },
    })
    signups.push({ ...signup, id })
  }
  await followed(database.pool)
})

const nameOf = ({ fullName, forename, surname }: Signup) =>
  (fullName ?? (forename && surname ? `${forename} ${surname}` : (surname ?? forename)))?.toLowerCase() ?? null

const textOf = (row: Signup) =>
  [row.fullName, row.forename, row.surname, row.email]
    .map(part => part ?? '')
    .join(' ')
    .toLowerCase()

const productFilters: [object, (row: Product) => boolean][] = [
  [{ isMonetary: true }, row => row.isMonetary],
  [{ isMonetary: false }, row => !row.isMonetary],
  [{ currency: 'GBP' }, row => row.currency === 'GBP'],
  [{ currency: 'GBP', price: { from: 10 } }, row => row.currency === 'GBP' && (row.price ?? -1) >= 10],
  [{ currency: 'EUR', price: { to: 10 } }, row => row.currency === 'EUR' && row.price !== null && row.price <= 10],
  [{ text: 'TEA' }, row => row.title.toLowerCase().includes('tea')],
  [{ text: 'über 1' }, () => false],
  [{ text: '00%' }, row => row.title.includes('00%')],
]

const productOrders: [string, (row: Product) => string | number | null, object][] = [
  ['UPDATED_AT', row => row.updatedAt ?? '', {}],
  ['TITLE', row => row.title.toLowerCase(), {}],
  ['PRICE', row => row.price, { currency: 'EUR' }],
  ['SORT_ORDER', row => row.sortOrder, {}],
]

const signupFilters: [object, (row: Signup) => boolean][] = [
  [{ source: 'web' }, row => row.source === 'web'],
  [{ source: 'we' }, () => false],
  [{ source: '\0' }, () => false],
  [
    { consented: { from: '2026-01-01T00:00:00Z', before: '2026-01-02T00:00:00Z' } },
    row => row.consentedAt === '2026-01-01T00:00:00Z',
  ],
  [{ text: 'lee' }, row => textOf(row).includes('lee')],
  [{ text: 'ann lee' }, row => textOf(row).includes('ann') && textOf(row).includes('lee')],
  [{ text: '@LEE' }, row => textOf(row).includes('@lee')],
  [{ text: 'b_' }, row => ` ${textOf(row)}`.includes(' b_')],
  [{ text: 'ñandú', source: 'fair' }, row => textOf(row).includes('ñandú') && row.source === 'fair'],
]

const signupOrders: [string, (row: Signup) => string | number | null, object][] = [
  ['UPDATED_AT', row => row.updatedAt, {}],
  ['CONSENTED_AT', row => row.consentedAt, {}],
  ['NAME', nameOf, {}],
]

const isOf = (withDescendants: boolean) => (row: { tenantId: number }) =>
  withDescendants ? tenants.includes(row.tenantId) : row.tenantId === top

/** Walks the list in both directions and compares it with a naive one. */
async function compare<Row extends { id: number; tenantId: number }>(
  asked: Omit<Asked, 'tenantId'>,
  rows: Row[],
  matches: (row: Row) => boolean,
  keyOf: (row: Row) => string | number | null,
) {
  for (const withDescendants of [false, true]) {
    const found = rows.filter(isOf(withDescendants)).filter(matches)
    const ids = found.sort(byKey(keyOf, asked.orderBy?.direction ?? 'ASC')).map(({ id }) => id)
    const whole = { tenantId: top, ...asked, withDescendants }
    expect(await walk(client, secret, whole, 9)).toEqual({ ids, total: ids.length })
    expect(await walk(client, secret, whole, 13, true)).toEqual({ ids, total: ids.length })
  }
}

const stampOf = (row: { updatedAt: string | null }) => row.updatedAt ?? ''
const directions = ['ASC', 'DESC'] as const

describe('products', () => {
  it.each(productFilters)('finds what %j says', (filter, matches) =>
    compare({ list: 'catalogVouchers', filter }, products, matches, stampOf))

  it('finds those of a category by both ids', async () => {
    for (const [index, id] of categories.entries()) {
      const categoryId = index === 0 ? String(id) : Buffer.from(`Category:${id}`).toString('base64url')
      const isIn = (row: Product) => row.categories.includes(id)
      await compare({ list: 'catalogVouchers', filter: { categoryId } }, products, isIn, stampOf)
    }
  })

  it.each(productOrders)('are ordered by %s', async (field, keyOf, filter) => {
    const matches = (row: Product) => !('currency' in filter) || row.currency === filter.currency
    for (const direction of directions) {
      await compare({ list: 'catalogVouchers', filter, orderBy: { field, direction } }, products, matches, keyOf)
    }
  })

  it('are ordered by sortOrder when filtered by isMonetary', () =>
    compare(
      { list: 'catalogVouchers', filter: { isMonetary: true }, orderBy: { field: 'SORT_ORDER' } },
      products,
      row => row.isMonetary,
      row => row.sortOrder,
    ))
})

describe('signups', () => {
  it.each(signupFilters)('finds what %j says', (filter, matches) =>
    compare({ list: 'marketingSignups', filter }, signups, row => row.opted && matches(row), stampOf))

  it.each(signupOrders)('are ordered by %s', async (field, keyOf, filter) => {
    for (const direction of directions) {
      await compare(
        { list: 'marketingSignups', filter, orderBy: { field, direction } },
        signups,
        row => row.opted,
        keyOf,
      )
    }
  })

  it('have a source of any length', async () => {
    const tenantId = await build.tenant()
    const token = await build.token([tenantId])
    const long = randomBytes(5_000).toString('hex')
    const ids: number[] = []
    for (const end of ['', 'x']) ids.push(await build.customer(tenantId, { consent_source: `${long}${end}` }))
    await followed(database.pool)
    const found = await list(client, token.secret, {
      tenantId,
      list: 'marketingSignups',
      filter: { source: `${long}x` },
    })
    expect(found.edges).toEqual([{ cursor: expect.any(String), node: { databaseId: ids[1] } }])
  })

  it('are in the audit, each tenant by itself', async () => {
    const token = await build.token([{ tenantId: top, withDescendants: true }])
    const asked: Asked = { tenantId: top, list: 'marketingSignups', withDescendants: true }
    const read = await list(client, token.secret, asked, { first: 100 }, 'databaseId')
    const entries = await database.pool`
      select tenant_id as "tenantId", (detail->>'records')::int as records from gateway.audit_entry
      where token_id = ${token.id} and action = 'customer.export' order by tenant_id`
    const expected = tenants.map(tenantId => ({
      tenantId,
      records: signups.filter(row => row.opted && row.tenantId === tenantId).length,
    }))
    expect([...entries]).toEqual(expected)
    expect(read.edges).toHaveLength(expected.reduce((sum, { records }) => sum + records, 0))
  })

  it('are in the audit when a text is searched and the page has no records', async () => {
    const token = await build.token([{ tenantId: top, withDescendants: true }])
    const asked: Asked = { tenantId: top, list: 'marketingSignups', filter: { text: 'lee' }, withDescendants: true }
    const found = await list(client, token.secret, asked, { first: 0 })
    expect(found.count.count).toBeGreaterThan(0)
    await list(client, token.secret, { ...asked, filter: { text: 'not there' } })
    const entries = await database.pool`
      select tenant_id as "tenantId", detail->'records' as records, detail->>'operation' as operation
      from gateway.audit_entry where token_id = ${token.id} and action = 'customer.export'`
    const entry = { tenantId: top, records: 0, operation: 'search' }
    expect([...entries]).toEqual([entry, entry])
    expect(await listExports(database.pool, token.id, 2)).toEqual([])
  })
})

describe('vouchers', () => {
  const entriesOf = (tokenId: number) => database.pool`
    select tenant_id as "tenantId", detail->'records' as records, detail->>'operation' as operation
    from gateway.audit_entry where token_id = ${tokenId} and action = 'customer.export' order by id`

  it('are in the audit when a text is searched, whether it finds a recipient or not', async () => {
    const tenantId = await build.tenant()
    const token = await build.token([tenantId])
    await build.voucher(tenantId, { recipient_name: 'Zoë Quill', product_id: await build.product(tenantId) })
    await followed(database.pool)
    const asked: Asked = { tenantId, list: 'purchasedVouchers' }
    expect(await list(client, token.secret, { ...asked, filter: { text: 'quill' } })).toMatchObject({
      count: { count: 1 },
    })
    expect(await list(client, token.secret, { ...asked, filter: { text: 'quilt' } })).toMatchObject({
      count: { count: 0 },
    })
    await list(client, token.secret, { ...asked, filter: { text: 'quill' }, withDescendants: true })
    const ofProduct = 'nodes { purchasedVouchers(filter: { text: "quill" }) { count { count } } }'
    await client.graphql(token.secret, `{ tenant(id: ${tenantId}) { catalogVouchers { ${ofProduct} } } }`)
    const entry = { tenantId, records: 0, operation: 'voucher search' }
    const withBelow = { ...entry, operation: 'voucher search, with tenants below' }
    expect([...(await entriesOf(token.id))]).toEqual([entry, entry, withBelow, entry])
    expect(await listExports(database.pool, token.id, 2)).toEqual([])
  })

  it('are not in the audit without a text', async () => {
    const token = await build.token([top])
    for (const filter of [{ currency: 'GBP' }, { text: ' ' }]) {
      await list(client, token.secret, { tenantId: top, list: 'purchasedVouchers', filter })
    }
    await list(client, token.secret, { tenantId: top, list: 'catalogVouchers', filter: { text: 'tea' } })
    expect([...(await entriesOf(token.id))]).toEqual([])
  })

  it('that are searched by a text are not answered when the entry cannot be written', async () => {
    await database.platform.unsafe(`create function gateway.reject() returns trigger language plpgsql as
      $$ begin raise exception 'no room' using errcode = 'disk_full'; end $$;
      create trigger reject before insert on gateway.audit_entry execute function gateway.reject()`)
    try {
      const { data, errors } = await ask(client, secret, {
        tenantId: top,
        list: 'purchasedVouchers',
        filter: { text: 'a' },
      })
      expect(data.tenant.list).toBeNull()
      expect(errors[0].extensions.code).toBe('UNAVAILABLE')
    } finally {
      await database.platform.unsafe('drop function gateway.reject() cascade')
    }
  })
})

it('names the field of each error', async () => {
  const errorsOf = async (asked: Omit<Asked, 'tenantId'>) =>
    (await ask(client, secret, { tenantId: top, ...asked })).errors?.[0].extensions.errors
  const filter = {
    validUntil: { from: '2026-02-30', to: 'x' },
    purchased: { before: 'now' },
    balance: { from: 1 },
    text: 'x'.repeat(201),
  }
  const orderBy = { field: 'BALANCE' }
  expect(await errorsOf({ list: 'purchasedVouchers', filter, orderBy })).toEqual({
    'filter.validUntil.from': ['Give a date, such as 2026-01-31.'],
    'filter.validUntil.to': ['Give a date, such as 2026-01-31.'],
    'filter.purchased.before': ['Give an ISO-8601 date and time, such as 2026-01-31T09:30:00Z.'],
    'filter.balance': ['Give a currency, too: amounts of different currencies are not compared.'],
    'filter.text': ['Give at most 200 characters.'],
    orderBy: ['Filter by a currency: amounts of different currencies are not compared.'],
  })
  expect(await errorsOf({ list: 'catalogVouchers', filter: { currency: 'pounds', text: 'a '.repeat(11) } })).toEqual({
    'filter.currency': ['Give the ISO 4217 code of a currency, for example GBP.'],
    'filter.text': ['Give at most 10 words.'],
  })
  expect(await errorsOf({ list: 'catalogVouchers', filter: { price: { to: 5 } } })).toEqual({
    'filter.price': ['Give a currency, too: amounts of different currencies are not compared.'],
  })
})

describe('the tenants below', () => {
  const ofToken = async (grants: Parameters<typeof build.token>[0], tenantId: number) => {
    const token = await build.token(grants)
    const found = await walk(client, token.secret, { tenantId, list: 'catalogVouchers', withDescendants: true }, 100)
    return new Set(found.ids.map(id => products.find(product => product.id === id)?.tenantId))
  }

  it('are those that the token is granted, whatever its grants are', async () => {
    const [, below = 0] = tenants
    expect(await ofToken([top], top)).toEqual(new Set([top]))
    expect(await ofToken([top, below], top)).toEqual(new Set([top, below]))
    expect(await ofToken([{ tenantId: top, withDescendants: true }], below)).toEqual(new Set([below]))
    const deep = await build.tenant({ parent_id: below })
    const product = await build.product(deep)
    const row = products[0]!
    products.push({ ...row, id: product, tenantId: deep })
    expect(await ofToken([top, { tenantId: below, withDescendants: true }], top)).toEqual(new Set([top, below, deep]))
    expect(await ofToken([top, deep], top)).toEqual(new Set([top, deep]))
    expect(await ofToken([top, below], top)).toEqual(new Set([top, below]))
    expect(await ofToken([{ tenantId: top, withDescendants: true }], deep)).toEqual(new Set([deep]))
    products.pop()
  })

  it('are not needed without records', async () => {
    const lonely = await build.tenant()
    expect(await ofToken([lonely], lonely)).toEqual(new Set())
  })
})

it('counts against the rate by what it costs', async () => {
  const cost = async (args: string) => {
    const token = await build.token([top], { rateLimit: 100 })
    const { headers, body } = await client.graphql(
      token.secret,
      `{ tenant(id: ${top}) { catalogVouchers(${args}) { nextCursor } } }`,
    )
    expect(body.errors).toBeUndefined()
    return 100 - Number(headers['ratelimit-remaining'])
  }
  expect(await cost('first: 1, filter: {}, withDescendants: false')).toBe(1)
  expect(await cost('filter: { isMonetary: true }')).toBe(2)
  expect(await cost('orderBy: { field: TITLE }')).toBe(2)
  expect(await cost('filter: { text: "tea" }')).toBe(4)
  expect(await cost('withDescendants: true')).toBe(2)
  expect(await cost('filter: { isMonetary: true }, withDescendants: true')).toBe(5)
  expect(await cost('filter: { text: "tea" }, withDescendants: true')).toBe(9)
})

it('leaves no prepared statements', async () => {
  const prepared = async () => {
    const found =
      await database.pool`select count(*) as count from pg_prepared_statements where statement ~ '/[*] [a-z]+[.]search'`
    return found[0]?.count
  }
  for (const field of ['TITLE', 'SORT_ORDER']) {
    await list(client, secret, { tenantId: top, list: 'catalogVouchers', orderBy: { field } })
  }
  for (let n = 0; n < 20; n++) expect(await prepared()).toBe(0)
})
