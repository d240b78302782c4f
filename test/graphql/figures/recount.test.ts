/** Figures equal a count of the records, for different trees and grants. */
import { beforeAll, expect, it } from 'vitest'
import { repairFigures } from '../../../src/domain/figures/check.ts'
import { cutPeriod, type Days } from '../../../src/domain/figures/period.ts'
import type { TenantGrant } from '../../../src/domain/token/token.ts'
import { whole } from '../../support/builders.ts'
import { onOneDay } from '../../support/on-one-day.ts'
import { projected } from '../../support/projected.ts'
import { startService } from '../../support/service.ts'
import { createRecount } from './recount.ts'
import { fillWorld, tenants } from './world.ts'

const { build, client, pool, platform } = await startService()
await fillWorld(platform)

const parents = new Map(tenants.map(([id, parent]) => [id, parent]))

/** Returns the granted tenants at or below a tenant. */
function grantedBelow(tenantId: number, grants: readonly TenantGrant[]): number[] {
  const path = (id: number): number[] => {
    const parent = parents.get(id)
    return parent ? [id, ...path(parent)] : [id]
  }
  const isGranted = (id: number) =>
    grants.some(grant => grant.tenantId === id || (grant.withDescendants && path(id).includes(grant.tenantId)))
  return [...parents.keys()].filter(id => path(id).includes(tenantId) && isGranted(id))
}

type Period = Days & { by: 'DAY' | 'WEEK' | 'MONTH'; timeZone: string }

const query = `
query ($tenantId: ID!, $withDescendants: Boolean!, $from: Date!, $to: Date!, $by: FigureInterval!, $timeZone: String) {
  tenant(id: $tenantId) {
    figures(period: { from: $from, to: $to }, by: $by, timeZone: $timeZone, withDescendants: $withDescendants) {
      timeZone
      periods { from to sales { ...Sales } }
      totals { ...Sales }
      consents { from to given withdrawn }
      outstanding { ...Outstanding }
      expiring(withinDays: 10) { ...Outstanding }
      today: expiring(withinDays: 0) { ...Outstanding }
      status { status vouchers share remaining { currency vouchers balance withoutBalance { vouchers paid } } }
      byPaid: topProducts(first: 4) { ...Product }
      byVouchers: topProducts(first: 5, by: VOUCHERS) { ...Product }
      pounds: topProducts(first: 3, currency: "GBP") { ...Product }
    }
  }
}
fragment Sales on SalesFigure { currency vouchers value paid redeemed voided withoutBalance { vouchers paid } }
fragment Outstanding on OutstandingFigure {
  currency vouchers balance byExpiry { month vouchers balance } withoutBalance { vouchers paid }
}
fragment Product on ProductFigure { productId currency vouchers paid value }`

const secrets = new Map<string, string>()

const compare = (...given: Parameters<typeof compareNow>) => onOneDay(() => compareNow(...given))

async function compareNow(grants: readonly TenantGrant[], tenantId: number, withDescendants: boolean, period: Period) {
  const key = JSON.stringify(grants)
  const secret = secrets.get(key) ?? (await build.token([...grants])).secret
  secrets.set(key, secret)
  const { figures } = (await client.read(secret, query, { tenantId, withDescendants, ...period })).tenant
  const { by, timeZone } = period
  const count = createRecount(platform, withDescendants ? grantedBelow(tenantId, grants) : [tenantId])
  const intervals = cutPeriod(period, by, {})
  expect(figures.timeZone).toBe(timeZone)
  expect(figures.periods).toEqual(await count.periods(intervals, timeZone))
  expect(figures.totals).toEqual(await count.totals(period, timeZone))
  expect(figures.consents).toEqual(await count.consents(intervals, timeZone))
  expect(figures.outstanding).toEqual(await count.outstanding())
  expect(figures.expiring).toEqual(await count.outstanding('date_valid_end <= today + 10'))
  expect(figures.today).toEqual(await count.outstanding('date_valid_end <= today'))
  const order = 'vouchers desc, paid desc, 1'
  const ranked = await count.products(period, timeZone, `currency, paid desc, ${order}`)
  const firstOfEach = ranked.filter((row, at) => row.currency !== ranked[at - 4]?.currency)
  expect(figures.byPaid).toEqual(firstOfEach)
  expect(figures.byVouchers).toEqual((await count.products(period, timeZone, order)).slice(0, 5))
  const pounds = await count.products(period, timeZone, `paid desc, ${order}`, "currency = 'GBP'")
  expect(figures.pounds).toEqual(pounds.slice(0, 3))
  const counted = await count.status()
  const add = (rows: { vouchers: number }[]) => rows.reduce((sum, { vouchers }) => sum + vouchers, 0)
  for (const { status, vouchers, share, remaining } of figures.status) {
    const rows = counted.filter(row => row.status === status)
    const isFinal = status === 'VOID' || status === 'REDEEMED'
    expect([status, vouchers]).toEqual([status, add(rows)])
    expect([status, remaining]).toEqual([status, isFinal ? [] : rows.map(({ status: _, ...left }) => left)])
    expect(share).toBeCloseTo(vouchers / add(counted), 5)
  }
}

const alone = (tenantId: number): TenantGrant => ({ tenantId, withDescendants: false })

const periods = {
  havana: { from: '2024-02-20', to: '2024-11-20', by: 'DAY', timeZone: 'America/Havana' },
  kolkata: { from: '2023-05-09', to: '2025-01-09', by: 'WEEK', timeZone: 'Asia/Kolkata' },
  apia: { from: '2011-12-28', to: '2012-01-03', by: 'DAY', timeZone: 'Pacific/Apia' },
  kathmandu: { from: '2011-12-01', to: '2025-01-31', by: 'MONTH', timeZone: 'Asia/Kathmandu' },
  kathmanduByDay: { from: '2024-10-01', to: '2024-12-31', by: 'DAY', timeZone: 'Asia/Kathmandu' },
  // The offset of Monrovia was -00:44:30 until 7 January 1972.
  monrovia: { from: '1971-12-25', to: '1972-01-14', by: 'DAY', timeZone: 'Africa/Monrovia' },
  lordHowe: { from: '2024-03-09', to: '2024-12-30', by: 'MONTH', timeZone: 'Australia/Lord_Howe' },
  utc: { from: '2024-01-01', to: '2024-12-31', by: 'DAY', timeZone: 'UTC' },
} as const satisfies Record<string, Period>

const grants: [string, TenantGrant[], Period[]][] = [
  ['everything', [whole(1)], Object.values(periods)],
  ['a tenant and parts below it', [alone(1), whole(6), alone(4), whole(2)], [periods.havana, periods.kathmandu]],
  ['a part of what is granted anyway', [whole(1), alone(3), whole(8)], [periods.kolkata]],
  ['tenants one by one', tenants.map(([id]) => alone(id)), [periods.lordHowe]],
]

beforeAll(async () => {
  await projected(pool)
  await platform`truncate gateway.figure_rollup, gateway.figure_member`
  await repairFigures(pool)
  await platform`
    update purchased_voucher set current_balance = current_balance / 2, tenant_id = 1 + id % 9 where id % 7 = 0`
  await platform`update purchased_voucher set void = not void where id % 31 = 0`
  await platform`update tenant set time_zone = 'Pacific/Kiritimati' where id in (1, 4)`
  await platform`update customer set marketing_opted = false where id % 10 = 4`
})

it.each(grants)('figures equal a count of the records: %s', async (_, given, asked) => {
  for (const period of asked) await compare(given, 1, true, period)
})

it('figures of periods of any length equal a count of the records', async () => {
  const day = (number: number) => new Date(Date.UTC(2023, 0, number)).toISOString().slice(0, 10)
  for (const [index, length] of [1, 9, 16, 30, 32, 47, 75, 100, 160, 250, 365, 500, 800, 1500].entries()) {
    const first = 53 * index - (length > 400 ? 400 : 0)
    await compare([whole(1)], 1, true, { from: day(first), to: day(first + length), by: 'MONTH', timeZone: 'UTC' })
  }
})

it('figures of one tenant equal a count of its records', async () => {
  await compare([whole(1)], 3, false, periods.kolkata)
  await compare([whole(1)], 8, false, periods.utc)
})

it('figures follow the tree', async () => {
  const move = async (id: number, parent: number | null) => {
    await platform`update tenant set parent_id = ${parent} where id = ${id}`
    parents.set(id, parent)
  }
  await move(6, 2)
  await move(9, 3)
  for (const tenantId of [1, 3]) await compare([whole(1)], tenantId, true, periods.havana)
  await compare([whole(3), alone(1), whole(2)], 1, true, periods.lordHowe)
  await move(6, 3)
  await move(9, null)
})
