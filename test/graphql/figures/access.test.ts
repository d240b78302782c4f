/** Figures: arguments, cost and snapshot. */
import { describe, expect, it } from 'vitest'
import { whole } from '../../support/builders.ts'
import { startService } from '../../support/service.ts'
import { capture, namesOf } from '../statements.ts'

const { build, client, database } = await startService()
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

it('shows a product only if the token covers its tenant, and its title as it was sold', async () => {
  const top = 'topProducts { title vouchers value product { title } }'
  const alone = (await build.token([root])).secret
  for (const [token, shown] of [
    [secret, { title: 'Tea for two' }],
    [alone, null],
  ] as const) {
    const { body } = await ask(top, january, root, token)
    const figure = { vouchers: 1, value: 40, title: 'Tea, as it was sold', product: shown }
    expect(body.data.tenant.figures.topProducts).toEqual([figure])
  }
})

describe('arguments', () => {
  const day = ['Give a date, such as 2026-01-31.']
  const zone = ['Give an IANA time zone, such as Europe/Berlin.']
  const any = [expect.any(String)]

  it.each([
    ['period: { from: "2026-02-30", to: "2026-03-01" }', { from: day }],
    ['period: { from: "2026-02-03", to: "9999-01-01" }', { to: day }],
    ['period: { from: "2026-02-03", to: "tomorrow" }', { to: day }],
    ['period: { from: "2026-03-01", to: "2026-02-28" }', { to: any }],
    ['period: { from: "2024-01-01", to: "2025-02-04" }, by: DAY', { period: any }],
    ['period: { from: "0002-01-01", to: "9998-12-31" }', { period: any }],
    [`${january}, timeZone: "Mars/Base"`, { timeZone: zone }],
    [`${january}, timeZone: "+02:00"`, { timeZone: zone }],
    // PostgreSQL reads it as the summer time of London, and Intl as the time of Dhaka.
    [`${january}, timeZone: "BST"`, { timeZone: zone }],
    [`${january}, timeZone: "PST8"`, { timeZone: zone }],
    [`${january}, timeZone: "C\\u0000"`, { timeZone: zone }],
    ['period: { from: "x", to: "y" }, timeZone: ""', { from: day, to: day }],
  ])('%s is wrong', async (options, errors) => {
    const { body } = await ask('asOf', options)
    expect(body.data.tenant).toEqual({ name: expect.any(String), figures: null })
    expect(body.errors[0].extensions).toEqual({ code: 'BAD_USER_INPUT', errors })
  })

  it.each([
    ['expiring(withinDays: -1) { balance }', 'withinDays'],
    ['expiring(withinDays: 3661) { balance }', 'withinDays'],
    ['topProducts(first: 0) { value }', 'first'],
    ['topProducts(first: 101) { value }', 'first'],
    ['topProducts(currency: "") { value }', 'currency'],
    ['topProducts(currency: "G\\u0000") { value }', 'currency'],
  ])('%s is wrong, and the other figures are there', async (field, name) => {
    const { body } = await ask(`field: ${field} totals { vouchers }`)
    expect(body.data.tenant.figures).toEqual({ field: null, totals: [{ vouchers: 1 }] })
    expect(Object.keys(body.errors[0].extensions.errors)).toEqual([name])
  })

  it('the intervals are cut to the period, and begin in the time zone', async () => {
    const options = 'period: { from: "2026-03-25", to: "2026-04-07" }, by: WEEK, timeZone: "Europe/Berlin"'
    const { body } = await ask('timeZone periods { from to start end sales { value } }', options)
    expect(body.data.tenant.figures).toEqual({
      timeZone: 'Europe/Berlin',
      periods: [
        ['2026-03-25', '2026-03-29', '2026-03-24T23:00:00.000000Z', '2026-03-29T22:00:00.000000Z'],
        ['2026-03-30', '2026-04-05', '2026-03-29T22:00:00.000000Z', '2026-04-05T22:00:00.000000Z'],
        ['2026-04-06', '2026-04-07', '2026-04-05T22:00:00.000000Z', '2026-04-07T22:00:00.000000Z'],
      ].map(([from, to, start, end]) => ({ from, to, start, end, sales: [] })),
    })
  })

  it('a time zone that only Intl knows is wrong, and figures in another are there', async () => {
    const figures = (timeZone: string) => `figures(${january}, timeZone: "${timeZone}") { totals { vouchers } }`
    const query = `{ tenant(id: ${root}) { a: ${figures('Asia/Tokyo')} b: ${figures('US/Pacific-New')} } }`
    const { body } = await client.graphql(secret, query)
    expect(body.data.tenant).toEqual({ a: { totals: [{ vouchers: 1 }] }, b: { totals: null } })
    expect(body.errors).toHaveLength(1)
    expect(body.errors[0].extensions).toEqual({ code: 'BAD_USER_INPUT', errors: { timeZone: zone } })
  })

  it.each([
    ['CET', '2026-06-30T22:00:00.000000Z'],
    ['eet', '2026-06-30T21:00:00.000000Z'],
    ['W-SU', '2026-06-30T21:00:00.000000Z'],
    ['EST5EDT', '2026-07-01T04:00:00.000000Z'],
    ['Etc/GMT+5', '2026-07-01T05:00:00.000000Z'],
  ])('the zone %s of an argument or a tenant has the days of the tz database', async (timeZone, start) => {
    const tenant = await build.tenant({ parent_id: root, time_zone: timeZone })
    for (const argument of ['', `, timeZone: "${timeZone}"`]) {
      const options = `period: { from: "2026-07-01", to: "2026-07-01" }${argument}`
      const { body } = await ask('timeZone periods { start }', options, tenant)
      expect(body.data.tenant.figures).toEqual({ timeZone, periods: [{ start }] })
    }
  })

  it('a currency is one in any case', async () => {
    const { body } = await ask('topProducts(currency: "gbp") { value }', january, branch)
    expect(body.data.tenant.figures.topProducts).toEqual([{ value: 40 }])
  })

  it('the default time zone is the time zone of the tenant', async () => {
    const { body } = await ask('timeZone periods { start }', january, leaf)
    expect(body.data.tenant.figures.timeZone).toBe('Asia/Tokyo')
    expect(body.data.tenant.figures.periods[0].start).toBe('2025-12-31T15:00:00.000000Z')
  })
})

const all = `asOf timeZone periods { from sales { value } } totals { value } consents { given } outstanding { balance }
  expiring { balance } soon: expiring(withinDays: 7) { balance } status { share } topProducts { value }
  byNumber: topProducts(by: VOUCHERS) { value }`

it('all figures of one level are read by one statement', async () => {
  const query = `{ tenant(id: ${root}) {
    a: figures(${january}) { ${all} }
    b: figures(${january}, by: MONTH) { status { vouchers } }
    before: figures(period: { from: "2025-01-01", to: "2025-12-31" }, withDescendants: true) { ${all} }
  } }`
  const statements = await capture(database.pool, async () => {
    await client.read(secret, query)
  })
  expect(namesOf(statements)).toEqual(['figures.read'])
})

it('asOf is the instant of the figures, and what was committed before is included', async () => {
  const shop = await build.tenant({ parent_id: branch })
  await build.voucher(shop, { currency: 'GBP', initial_balance: 40, current_balance: 40 })
  const written = Date.now()
  const { body } = await ask('asOf status { status vouchers }', january, shop)
  const { asOf, status } = body.data.tenant.figures
  expect(status).toContainEqual({ status: 'REDEEMABLE', vouchers: 1 })
  expect(Date.parse(asOf)).toBeGreaterThanOrEqual(written)
  expect(Date.parse(asOf)).toBeLessThanOrEqual(Date.now())
})

it('figures count as operations, with descendants as more', async () => {
  const costOf = async (options: string) => (await ask(all, options)).body.extensions.cost
  const [alone, below] = [await costOf(january), await costOf(`${january}, withDescendants: true`)]
  expect(alone).toMatchObject({ requested: 18, actual: 18 })
  expect(below).toMatchObject({ requested: 21, actual: 21 })
})
