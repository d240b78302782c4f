/** Tests the arguments, cost and snapshot of figures. */
import { expect, it } from 'vitest'
import { whole } from '../../support/builders.ts'
import { startService } from '../../support/service.ts'
import { capture, namesOf } from '../statements.ts'

const { build, client, pool } = await startService()
const root = await build.tenant()
const branch = await build.tenant({ parent_id: root })
const leaf = await build.tenant({ parent_id: branch, time_zone: 'Asia/Tokyo' })
const product = await build.product(branch, { title: 'Tea for two' })
for (const [tenant, day] of [
  [root, '2026-01-31'],
  [branch, '2026-02-01'],
  [leaf, '2026-02-02'],
] as const) {
  const money = { currency: 'GBP', initial_balance: 40, current_balance: 40, purchase_value: 35 }
  const sold = { product_id: product, product_title: 'Tea, as it was sold', purchase_timestamp: `${day}T12:00:00Z` }
  await build.voucher(tenant, { ...money, ...sold })
}
const { secret } = await build.token([whole(root)])

const january = 'period: { from: "2026-01-01", to: "2026-02-28" }'
const ask = (selection: string, options = january, tenantId = root, token = secret) =>
  client.graphql(token, `{ tenant(id: ${tenantId}) { name figures(${options}) { ${selection} } } }`)

it('a figure shows the title at the time of the sale, and only products of included tenants', async () => {
  const productFor = async (token: string) => {
    const { body } = await ask('topProducts { title value product { title } }', january, root, token)
    const [{ product, ...figure }] = body.data.tenant.figures.topProducts
    expect(figure).toEqual({ value: 40, title: 'Tea, as it was sold' })
    return product
  }
  expect(await productFor(secret)).toEqual({ title: 'Tea for two' })
  expect(await productFor((await build.token([root])).secret)).toBeNull()
})

const dayError = ['Give a date, such as 2026-01-31.']
const zoneError = ['Give an IANA time zone, such as Europe/Berlin.']
const anyError = [expect.any(String)]

it.each([
  ['period: { from: "2026-02-30", to: "9999-01-01" }', { from: dayError, to: dayError }],
  ['period: { from: "2026-03-01", to: "2026-02-28" }', { to: anyError }],
  ['period: { from: "2024-01-01", to: "2025-02-04" }, by: DAY', { period: anyError }],
  ['period: { from: "0002-01-01", to: "9998-12-31" }', { period: anyError }],
  [`${january}, timeZone: "+02:00"`, { timeZone: zoneError }],
  // For PostgreSQL, BST is the summer time of London; for Intl, it is the time of Dhaka.
  [`${january}, timeZone: "BST"`, { timeZone: zoneError }],
  [`${january}, timeZone: "C\\u0000"`, { timeZone: zoneError }],
])('wrong arguments are reported by name: %s', async (options, errors) => {
  const { body } = await ask('asOf', options)
  expect(body.data.tenant).toEqual({ name: expect.any(String), figures: null })
  expect(body.errors[0].extensions).toEqual({ code: 'BAD_USER_INPUT', errors })
})

it.each([
  ['expiring(withinDays: 3661) { balance }', 'withinDays'],
  ['topProducts(first: 0) { value }', 'first'],
  ['topProducts(currency: "G\\u0000") { value }', 'currency'],
])('%s is reported as wrong, and the other figures are returned', async (field, name) => {
  const { body } = await ask(`field: ${field} totals { vouchers }`)
  expect(body.data.tenant.figures).toEqual({ field: null, totals: [{ vouchers: 1 }] })
  expect(Object.keys(body.errors[0].extensions.errors)).toEqual([name])
})

it('the intervals are cut to the period, and begin at midnight of the time zone', async () => {
  const options = 'period: { from: "2026-03-25", to: "2026-04-07" }, by: WEEK, timeZone: "Europe/Berlin"'
  const { body } = await ask('periods { from to start end }', options)
  const [first, second, third] = [
    '2026-03-24T23:00:00.000000Z',
    '2026-03-29T22:00:00.000000Z',
    '2026-04-05T22:00:00.000000Z',
  ]
  expect(body.data.tenant.figures.periods).toEqual([
    { from: '2026-03-25', to: '2026-03-29', start: first, end: second },
    { from: '2026-03-30', to: '2026-04-05', start: second, end: third },
    { from: '2026-04-06', to: '2026-04-07', start: third, end: '2026-04-07T22:00:00.000000Z' },
  ])
})

it('a time zone that only Intl knows is reported as wrong, and figures in another zone are returned', async () => {
  const figures = (timeZone: string) => `figures(${january}, timeZone: "${timeZone}") { totals { vouchers } }`
  const query = `{ tenant(id: ${root}) { a: ${figures('Asia/Tokyo')} b: ${figures('US/Pacific-New')} } }`
  const { body } = await client.graphql(secret, query)
  expect(body.data.tenant).toEqual({ a: { totals: [{ vouchers: 1 }] }, b: { totals: null } })
  expect(body.errors).toMatchObject([{ extensions: { errors: { timeZone: zoneError } } }])
})

it('a currency code matches in upper or lower case', async () => {
  const { body } = await ask('topProducts(currency: "gbp") { value }', january, branch)
  expect(body.data.tenant.figures.topProducts).toEqual([{ value: 40 }])
})

const allFigures = `asOf timeZone periods { from sales { value } } totals { value } consents { given }
  outstanding { balance } expiring { balance } soon: expiring(withinDays: 7) { balance } status { share } topProducts { value }
  byNumber: topProducts(by: VOUCHERS) { value }`

it('allFigures figures of one level are read by one statement', async () => {
  const query = `{ tenant(id: ${root}) {
    a: figures(${january}) { ${allFigures} }
    b: figures(${january}, by: MONTH) { status { vouchers } }
    before: figures(period: { from: "2025-01-01", to: "2025-12-31" }, withDescendants: true) { ${allFigures} }
  } }`
  expect(namesOf(await capture(pool, () => client.read(secret, query)))).toEqual(['figures.read'])
})

it('figures cost several operations, and more with descendants', async () => {
  const costOf = async (options: string) => (await ask(allFigures, options)).body.extensions.cost
  const [alone, below] = [await costOf(january), await costOf(`${january}, withDescendants: true`)]
  expect(alone).toMatchObject({ requested: 18, actual: 18 })
  expect(below).toMatchObject({ requested: 21, actual: 21 })
})
