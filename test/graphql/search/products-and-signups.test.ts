import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { stampRecord, whole } from '../../support/builders.ts'
import { globalId } from '../../support/graphql.ts'
import { startService } from '../../support/service.ts'
import { type Asked, ask, createComparison, createDraw, type Filter, idsOf, list, type Order, walk } from './support.ts'

const draw = createDraw('products and signups')
const { database, build, client } = await startService()
const { pool, platform } = database
const top = await build.tenant()
const below = await build.tenant({ parent_id: top })
const other = await build.tenant()
const tenants: [number, number] = [top, below]
const { secret } = await build.token([whole(top)])
const categories = [await build.category(top), await build.category(top), await build.category(top)]
const stamps = ['2026-01-01T00:00:00.000001Z', '2026-02-01T00:00:00.000000Z']

const drawProduct = () => ({
  tenantId: draw([top, top, below, other]),
  title: draw(['Tea for two', 'tea', 'Überraschung', 'Spa 100%', 'x'.repeat(300)]),
  currency: draw(['GBP', 'EUR']),
  price: draw([null, 0, 10, 99.5]),
  is_monetary: draw([true, false]),
  sort_order: draw([0, 1, 2, -3]),
  updated_at: draw(stamps),
})
type Product = ReturnType<typeof drawProduct> & { id: number; categories: number[] }
const products: Product[] = []
for (let n = 0; n < 60; n++) {
  const { tenantId, updated_at, ...columns } = drawProduct()
  const id = await build.product(tenantId, columns)
  const linked = tenantId === top ? categories.filter(() => draw([true, false, false])) : []
  for (const category of linked) {
    await platform`insert into product_category (product_id, category_id) values (${id}, ${category})`
  }
  await stampRecord(platform, 'product', id, updated_at)
  products.push({ ...columns, updated_at, id, tenantId, categories: linked })
}

const drawSignup = (n: number) => ({
  tenantId: draw([top, top, below, other]),
  full_name: draw([null, null, 'Ann Lee', 'José Ñandú']),
  forename: draw([null, 'Ann', 'bob']),
  surname: draw([null, 'Lee', 'O’Neil']),
  email: draw([null, `ann${n}@example.com`, `B_${n}@lee.example`]),
  consent_source: draw([null, 'web', 'fair']),
  consented_at: draw([null, '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z']),
  marketing_opted: draw([true, true, true, false]),
  updated_at: draw(stamps),
})
type Signup = ReturnType<typeof drawSignup> & { id: number }
const signups: Signup[] = []
for (let n = 0; n < 60; n++) {
  const { tenantId, ...columns } = drawSignup(n)
  signups.push({ ...columns, tenantId, id: await build.customer(tenantId, columns) })
}
const opted = signups.filter(row => row.marketing_opted)

/** A letter with an accent follows the one without it. */
const orderOf = (text: string | null) => text?.toUpperCase().normalize('NFD') ?? null

const nameOf = ({ full_name, forename, surname }: Signup) =>
  orderOf(full_name ?? (forename && surname ? `${forename} ${surname}` : (surname ?? forename)))

const textOf = ({ full_name, forename, surname, email }: Signup) =>
  [full_name, forename, surname, email].join(' ').toLowerCase()

const productFilters: Filter<Product>[] = [
  [{ isMonetary: true }, row => row.is_monetary],
  [{ isMonetary: false }, row => !row.is_monetary],
  [{ currency: 'GBP' }, row => row.currency === 'GBP'],
  [{ currency: 'GBP', price: { from: 10 } }, row => row.currency === 'GBP' && (row.price ?? -1) >= 10],
  [{ currency: 'EUR', price: { to: 10 } }, row => row.currency === 'EUR' && row.price !== null && row.price <= 10],
  [{ text: 'TEA' }, row => row.title.toLowerCase().includes('tea')],
  [{ text: 'über 1' }, () => false],
  [{ text: 'fo' }, row => row.title.includes('for')],
  [{ text: '00%' }, row => row.title.includes('00%')],
  [{ categoryId: String(categories[0]) }, row => row.categories.includes(categories[0]!)],
  [{ categoryId: globalId('Category', categories[1]!) }, row => row.categories.includes(categories[1]!)],
]

/** The values that filter the orders below. */
const cellOf: Record<string, (row: Product) => unknown> = {
  currency: row => row.currency,
  isMonetary: row => row.is_monetary,
}

const productOrders: Order<Product>[] = [
  ['UPDATED_AT', row => row.updated_at, {}],
  ['TITLE', row => orderOf(row.title), {}],
  ['PRICE', row => row.price, { currency: 'EUR' }],
  ['SORT_ORDER', row => row.sort_order, {}],
  ['SORT_ORDER', row => row.sort_order, { isMonetary: true }],
]

const signupFilters: Filter<Signup>[] = [
  [{ source: 'web' }, row => row.consent_source === 'web'],
  [{ source: 'we' }, () => false],
  [{ source: '\0' }, () => false],
  [
    { consented: { from: '2026-01-01T00:00:00Z', before: '2026-01-02T00:00:00Z' } },
    row => row.consented_at === '2026-01-01T00:00:00Z',
  ],
  [{ text: 'lee' }, row => textOf(row).includes('lee')],
  [{ text: 'ann lee' }, row => textOf(row).includes('ann') && textOf(row).includes('lee')],
  [{ text: '@LEE' }, row => textOf(row).includes('@lee')],
  [{ text: 'b_' }, row => ` ${textOf(row)}`.includes(' b_')],
  [{ text: 'ñandú', source: 'fair' }, row => textOf(row).includes('ñandú') && row.consent_source === 'fair'],
]

const signupOrders: Order<Signup>[] = [
  ['UPDATED_AT', row => row.updated_at, {}],
  ['CONSENTED_AT', row => row.consented_at, {}],
  ['NAME', nameOf, {}],
]

const compare = createComparison(client, secret, tenants)
const stampOf = (row: { updated_at: string }) => row.updated_at
const directions = ['ASC', 'DESC'] as const

describe('products', () => {
  it.each(productFilters)('finds what %j says', (filter, matches) =>
    compare({ list: 'catalogVouchers', filter }, products, matches, stampOf))

  it.each(productOrders)('are ordered by %s', async (field, keyOf, filter) => {
    const matches = (row: Product) => Object.entries(filter).every(([name, value]) => cellOf[name]?.(row) === value)
    for (const direction of directions) {
      await compare({ list: 'catalogVouchers', filter, orderBy: { field, direction } }, products, matches, keyOf)
    }
  })
})

describe('signups', () => {
  it.each(signupFilters)('finds what %j says', (filter, matches) =>
    compare({ list: 'marketingSignups', filter }, opted, matches, stampOf))

  it.each(signupOrders)('are ordered by %s', async (field, keyOf, filter) => {
    for (const direction of directions) {
      await compare({ list: 'marketingSignups', filter, orderBy: { field, direction } }, opted, () => true, keyOf)
    }
  })

  it('have a source of any length', async () => {
    const tenantId = await build.tenant()
    const token = await build.token([tenantId])
    const long = randomBytes(5_000).toString('hex')
    const ids: number[] = []
    for (const end of ['', 'x']) ids.push(await build.customer(tenantId, { consent_source: `${long}${end}` }))
    const asked: Asked = { tenantId, list: 'marketingSignups', filter: { source: `${long}x` } }
    expect(idsOf(await list(client, token.secret, asked))).toEqual([ids[1]])
  })
})

it.each<[Omit<Asked, 'tenantId'>, string[]]>([
  [
    {
      list: 'purchasedVouchers',
      filter: {
        validUntil: { from: '2026-02-30', to: 'x' },
        purchased: { before: 'now' },
        balance: { from: 1 },
        text: 'x'.repeat(201),
      },
      orderBy: { field: 'BALANCE' },
    },
    ['validUntil.from', 'validUntil.to', 'purchased.before', 'balance', 'text'],
  ],
  [{ list: 'catalogVouchers', filter: { currency: 'pounds', text: 'a '.repeat(11) } }, ['currency', 'text']],
  [{ list: 'catalogVouchers', filter: { price: { to: 5 } } }, ['price']],
])('names the field of each error in %j', async (asked, fields) => {
  const { errors } = await ask(client, secret, { tenantId: top, ...asked })
  expect(Object.keys(errors[0].extensions.errors)).toEqual([
    ...fields.map(field => `filter.${field}`),
    ...(asked.orderBy ? ['orderBy'] : []),
  ])
})

it('finds, with the tenants below, records of the tenants that the token is granted', async () => {
  const deep = await build.tenant({ parent_id: below })
  const owners = new Map(products.map(({ id, tenantId }) => [id, tenantId]))
  owners.set(await build.product(deep), deep)
  for (const [grants, tenantId, expected] of [
    [[top], top, [top]],
    [[top, whole(below)], top, [top, below, deep]],
    [[top, deep], top, [top, deep]],
    [[whole(top)], below, [below, deep]],
  ] as const) {
    const token = await build.token([...grants])
    const found = await walk(client, token.secret, { tenantId, list: 'catalogVouchers', withDescendants: true }, 100)
    expect(new Set(found.ids.map(id => owners.get(id)))).toEqual(new Set(expected))
  }
})

it.each([
  [1, 'first: 1, filter: {}, withDescendants: false'],
  [2, 'filter: { isMonetary: true }'],
  [2, 'orderBy: { field: TITLE }'],
  [4, 'filter: { text: "tea" }'],
  [2, 'withDescendants: true'],
  [5, 'filter: { isMonetary: true }, withDescendants: true'],
  [9, 'filter: { text: "tea" }, withDescendants: true'],
])('costs %i: %s', async (cost, args) => {
  const query = `{ tenant(id: ${top}) { catalogVouchers(${args}) { nextCursor } } }`
  const { body } = await client.graphql(secret, query)
  expect(body.errors).toBeUndefined()
  expect(body.extensions.cost.actual).toBe(cost)
})

it('leaves no prepared statements', async () => {
  for (const field of ['TITLE', 'SORT_ORDER']) {
    await list(client, secret, { tenantId: top, list: 'catalogVouchers', orderBy: { field } })
  }
  for (let n = 0; n < 20; n++) {
    const prepared = await pool`select from pg_prepared_statements where statement ~ '/[*] [a-z]+[.]search'`
    expect(prepared).toHaveLength(0)
  }
})
