/** Access to figures: permissions, arguments, cost and snapshot. */
import { describe, expect, it } from 'vitest'
import { type Permission, permissionNames } from '../../../src/domain/token/permission.ts'
import { codeOf } from '../../support/app.ts'
import { whole } from '../../support/builders.ts'
import { followed } from '../../support/followed.ts'
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
await followed(database.pool)

const january = 'period: { from: "2026-01-01", to: "2026-02-28" }'
const ask = (selection: string, options = january, tenantId = root, token = secret) =>
  client.graphql(token, `{ tenant(id: ${tenantId}) { name figures(${options}) { ${selection} } } }`)

describe('permissions', () => {
  const sales: Permission[] = ['view_vouchers', 'view_orders']
  it.each([
    ['periods { from }', sales],
    ['totals { value }', sales],
    ['topProducts { title }', sales],
    ['outstanding { balance }', sales],
    ['expiring { balance }', sales],
    ['status { vouchers }', sales],
    ['consents { given }', ['export_customer_information'] as Permission[]],
  ])('%s requires all of %j, and takes no other figure with it', async (field, needed) => {
    const codeWith = async (permissions: Permission[]) => {
      const token = await build.token([root], { permissions })
      const answer = await ask(`timeZone field: ${field}`, january, root, token.secret)
      expect(answer.body.data.tenant.figures.timeZone).toBe('UTC')
      return codeOf(answer)
    }
    expect(await codeWith(needed)).toBeUndefined()
    for (const missing of needed) {
      expect(await codeWith(permissionNames.filter(permission => permission !== missing))).toBe('FORBIDDEN')
    }
  })

  it('a tenant that the token does not cover has no figures', async () => {
    const token = await build.token([leaf])
    expect(codeOf(await ask('totals { value }', january, root, token.secret))).toBe('FORBIDDEN')
  })
})

describe('scope', () => {
  const sold = async (tenantId: number, withDescendants: boolean, token = secret) => {
    const options = `${january}, withDescendants: ${withDescendants}`
    const { body } = await ask('totals { value vouchers }', options, tenantId, token)
    return body.data.tenant.figures.totals[0]?.vouchers ?? 0
  }

  it('is one tenant, or the granted ones below it too', async () => {
    expect([await sold(root, false), await sold(root, true), await sold(branch, true)]).toEqual([1, 3, 2])
    const partial = (await build.token([root, whole(leaf)])).secret
    expect([await sold(root, true, partial), await sold(root, false, partial)]).toEqual([2, 1])
  })

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
})

describe('arguments', () => {
  it.each([
    ['period: { from: "2026-02-30", to: "2026-03-01" }', ['from']],
    ['period: { from: "2026-02-03", to: "tomorrow" }', ['to']],
    ['period: { from: "2026-03-01", to: "2026-02-28" }', ['to']],
    ['period: { from: "2024-01-01", to: "2025-02-04" }, by: DAY', ['period']],
    ['period: { from: "0002-01-01", to: "9998-12-31" }', ['period']],
    [`${january}, timeZone: "Mars/Base"`, ['timeZone']],
    [`${january}, timeZone: "+02:00"`, ['timeZone']],
    // PostgreSQL reads it as the summer time of London, and Intl as the time of Dhaka.
    [`${january}, timeZone: "BST"`, ['timeZone']],
    // PostgreSQL reads it as an offset without summer time.
    [`${january}, timeZone: "CET"`, ['timeZone']],
    ['period: { from: "x", to: "y" }, timeZone: ""', ['from', 'to', 'timeZone']],
  ])('%s is wrong in %j', async (options, fields) => {
    const { body } = await ask('asOf', options)
    expect(body.data.tenant).toEqual({ name: expect.any(String), figures: null })
    expect(body.errors[0].extensions.code).toBe('BAD_USER_INPUT')
    expect(Object.keys(body.errors[0].extensions.errors)).toEqual(fields)
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

  it('a day that is not a date has the message of a filter', async () => {
    const { body } = await ask('asOf', 'period: { from: "2026-02-30", to: "9999-01-01" }')
    const message = 'Give a date, such as 2026-01-31.'
    expect(body.errors[0].extensions.errors).toEqual({ from: [message], to: [message] })
  })

  it('a time zone that only Intl knows is wrong', async () => {
    const { body } = await ask('totals { value }', `${january}, timeZone: "US/Pacific-New"`)
    expect(body.errors[0].extensions).toEqual({
      code: 'BAD_USER_INPUT',
      errors: { timeZone: ['Give an IANA time zone, such as Europe/Berlin.'] },
    })
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

it('all figures of one field, and of the same arguments, are read by one statement', async () => {
  const query = `{ tenant(id: ${root}) { a: figures(${january}) { ${all} } b: figures(${january}, by: MONTH) { status { vouchers } } } }`
  const statements = await capture(database.pool, async () => {
    await client.read(secret, query)
  })
  expect(namesOf(statements)).toEqual(['figures.read'])
})

it('asOf is the instant of the figures, and what was committed before is included', async () => {
  const shop = await build.tenant({ parent_id: branch })
  const now = async () => {
    const [{ at }] = await database.platform<[{ at: string }]>`select clock_timestamp() as at`
    return Date.parse(at)
  }
  await build.voucher(shop, { currency: 'GBP', initial_balance: 40, current_balance: 40 })
  const written = await now()
  await followed(database.pool)
  const { body } = await ask('asOf status { status vouchers }', january, shop)
  const { asOf, status } = body.data.tenant.figures
  expect(status).toContainEqual({ status: 'REDEEMABLE', vouchers: 1 })
  expect(Date.parse(asOf)).toBeGreaterThanOrEqual(written)
  expect(Date.parse(asOf)).toBeLessThanOrEqual(await now())
})

it('there are no figures before they are counted for the first time', async () => {
  const other = await startService()
  const { loader, pool } = other.database
  // The job of the service counts no figures during the test.
  await loader`select pg_advisory_lock(gateway.follower_lock())`
  await loader`update gateway.follower set as_of = null`
  const tenant = await other.build.tenant()
  const token = await other.build.token([tenant])
  const query = `{ tenant(id: ${tenant}) { name figures(${january}) { totals { vouchers } } } }`
  const answer = await other.client.graphql(token.secret, query)
  expect(answer.body.data.tenant).toEqual({ name: expect.any(String), figures: { totals: null } })
  expect(codeOf(answer)).toBe('UNAVAILABLE')
  await loader`select pg_advisory_unlock_all()`
  await followed(pool)
  expect((await other.client.read(token.secret, query)).tenant.figures).toEqual({ totals: [] })
})

it('figures count as operations, with descendants as more', async () => {
  const costOf = async (options: string) => (await ask(all, options)).body.extensions.cost
  const [alone, below] = [await costOf(january), await costOf(`${january}, withDescendants: true`)]
  expect(alone).toMatchObject({ requested: 18, actual: 18 })
  expect(below).toMatchObject({ requested: 21, actual: 21 })
})

it('figures of one answer agree with each other while vouchers change and figures follow', async () => {
  const vouchers = 60
  const shop = await build.tenant({ parent_id: branch })
  for (let voucher = 0; voucher < vouchers; voucher++) {
    const amounts = { initial_balance: 100, current_balance: 100, purchase_value: 100 }
    await build.voucher(shop, { currency: 'EUR', ...amounts, purchase_timestamp: '2026-01-15T10:00:00Z' })
  }
  let going = true
  const until = async (step: () => Promise<unknown>) => {
    while (going) await step()
  }
  // Moves money between two vouchers: the sum of all balances stays.
  const write = () => database.platform`
    update purchased_voucher set current_balance = current_balance + case when id = pair[1] then -1 else 1 end
    from (select array_agg(id) as pair from (
            select id from purchased_voucher where tenant_id = ${shop} and current_balance > 1 order by random() limit 2
          ) two) chosen
    where id = any(pair) and cardinality(pair) = 2`
  await followed(database.pool)
  const follow = () => database.pool`select gateway.follow(2)`
  const others = [until(write), until(follow)]
  const sums = new Set<string>()
  for (let read = 0; read < 25; read++) {
    const { body } = await ask('totals { redeemed vouchers } outstanding { balance vouchers }', january, shop)
    const { totals, outstanding } = body.data.tenant.figures
    sums.add(JSON.stringify([totals, outstanding]))
  }
  going = false
  await Promise.all(others)
  expect([...sums]).toEqual([JSON.stringify([[{ redeemed: 0, vouchers }], [{ balance: 6000, vouchers }]])])
})
