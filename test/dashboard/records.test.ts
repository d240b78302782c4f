// The number of vouchers of a figure is the number of the list to which the figure leads.
import { expect, test } from 'vitest'
import { DashboardVoucherCount } from '../../packages/dashboard/src/operations.ts'
import type { Days } from '../../packages/dashboard/src/period.ts'
import {
  type Filters,
  outstandingIn,
  resolveFilters,
  soldIn,
  toQuery,
} from '../../packages/dashboard/src/vouchers/filter.ts'
import { whole } from '../support/builders.ts'
import { startService } from '../support/service.ts'

const { build, client, database } = await startService()
const group = await build.tenant({ time_zone: 'Europe/London' })
const branch = await build.tenant({ parent_id: group, time_zone: 'Asia/Kathmandu' })
const { secret } = await build.token([whole(group)], { rateLimit: 10_000 })
// A sale at each quarter of an hour around the days on which the clocks of some zones change at midnight.
await database.platform`
  insert into purchased_voucher (tenant_id, reference, currency, purchase_value, initial_balance, current_balance, void,
    date_valid_start, date_valid_end, purchase_timestamp)
  select case number % 2 when 0 then ${group}::bigint else ${branch}::bigint end, 'EDGE-' || number,
    case number % 3 when 0 then 'EUR' else 'GBP' end, 10, 10, number % 4 * 5 % 15, number % 5 = 0,
    case when number % 12 = 1 then date '2098-01-01' end, case when number % 6 = 0 then date '2019-01-01' end,
    timestamptz '2018-11-03 00:00Z' + number * interval '15 minutes'
  from generate_series(0, 299) number`

const zones = ['America/Sao_Paulo', 'America/Havana', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Europe/London']
const period: Days = { from: '2018-11-03', to: '2018-11-05' }

interface Counted {
  currency: string | null
  vouchers: number
}

interface Figures {
  totals: Counted[]
  outstanding: Counted[]
  periods: (Days & { sales: Counted[] })[]
}

const figuresQuery = `query ($tenant: ID!, $period: PeriodInput!, $timeZone: String!, $withDescendants: Boolean!) {
  tenant(id: $tenant) {
    figures(period: $period, by: DAY, timeZone: $timeZone, withDescendants: $withDescendants) {
      totals { currency vouchers }
      outstanding { currency vouchers }
      periods { from to sales { currency vouchers } }
    }
  }
}`

test.each(zones)('of a period, of its days and of what is outstanding, with the days of %s', async timeZone => {
  for (const [tenant, withDescendants] of [
    [group, true],
    [branch, false],
  ] as const) {
    const data = await client.read(secret, figuresQuery, { tenant, period, timeZone, withDescendants })
    const figures: Figures = data.tenant.figures
    const listed = async (currency: string, filters: Filters | null) => {
      const { filter } = toQuery(resolveFilters(filters ?? {}, period, currency), { timeZone, currency })
      const variables = { tenant, withDescendants, filter }
      const answer = await client.post(secret, { documentId: DashboardVoucherCount.id, variables })
      return answer.body.data.tenant.purchasedVouchers.count
    }
    const counted = (found: Counted[], code: string) => ({
      count: found.find(({ currency }) => currency === code)?.vouchers ?? 0,
      precision: 'EXACT',
    })
    for (const currency of ['EUR', 'GBP']) {
      expect(counted(figures.totals, currency).count).toBeGreaterThan(5)
      expect(await listed(currency, soldIn(null, currency))).toEqual(counted(figures.totals, currency))
      expect(await listed(currency, outstandingIn(currency))).toEqual(counted(figures.outstanding, currency))
      for (const { from, to, sales } of figures.periods) {
        expect(await listed(currency, soldIn({ from, to }, currency))).toEqual(counted(sales, currency))
      }
    }
  }
})
