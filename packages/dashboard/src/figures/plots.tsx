// The plots of a view, whose amounts are in one currency.
import { formatCount, formatMoney, formatNumberOf, formatShare, formatShortCount, formatShortMoney } from '../format.ts'
import { dayIn, type Interval } from '../period.ts'
import { NothingToPlot, Placeholder } from '../placeholders.tsx'
import { Plot } from '../plots/plot.tsx'
import { type Column, numberColumn } from '../tables/data-table.tsx'
import { type Filters, soldFilters } from '../vouchers/filter.ts'
import { vouchersColumn } from '../vouchers/vouchers-link.tsx'
import { ExpiryPlot } from './expiry-plot.tsx'
import {
  type ConsentPeriod,
  type Currency,
  describeVouchersWithoutBalance,
  type Figures,
  labelPeriod,
  namePeriod,
  redeemedShare,
  type Sales,
  salesIn,
  sumConsents,
} from './model.ts'
import type { NamedProduct } from './product-names.ts'
import { StatusShares, TopProducts } from './shares.tsx'

interface PlotsProps {
  figures: Figures
  by: Interval
  currency: Currency
  /** Null while the products are loading. */
  products: readonly NamedProduct[] | null
}

/** Shows the plots of a view. Leaves out the plots whose data the token may not read. */
export function Plots({ figures, by, currency, products }: PlotsProps) {
  const { periods, totals, outstanding, status, consents, asOf, timeZone } = figures
  const severalYears = (periods?.length ?? 0) > 12
  const points = (periods ?? []).map(({ sales: all, ...days }): Point => {
    const sales = salesIn(all, currency)
    return {
      ...{ from: days.from, name: namePeriod(days, by), tick: labelPeriod(days, by, severalYears), sales },
      filters: sales.vouchers > 0 ? soldFilters(days, currency) : null,
    }
  })
  return (
    <section class="plot-grid" aria-label="Plots">
      {periods && totals && (
        <>
          <SalesPlot {...{ points, currency }} total={salesIn(totals, currency)} />
          <RedeemedPlot {...{ points, currency }} total={salesIn(totals, currency)} />
        </>
      )}
      {outstanding && (
        <ExpiryPlot
          outstanding={outstanding.find(figure => figure.currency === currency)}
          currency={currency}
          today={dayIn(timeZone, new Date(asOf))}
        />
      )}
      {status && <StatusShares figures={status} />}
      {products ? <TopProducts {...{ products, currency }} /> : totals && <Placeholder kind="plot" />}
      {consents && <ConsentPlot {...{ by }} periods={consents} />}
    </section>
  )
}

/** The sales of one interval, for one bar. */
interface Point {
  /** The first day of the interval. */
  from: string
  name: string
  tick: string
  sales: Sales
  /** The filters that select the vouchers of the interval in the list; null when no filters select these vouchers. */
  filters: Filters | null
}

interface PeriodPlotProps {
  points: readonly Point[]
  currency: Currency
  total: Sales
}

const nameColumn: Column<Point> = { heading: 'Period', cell: ({ name }) => name, sortBy: ({ from }) => from }

/** Plots the number of vouchers sold over time, and the amounts paid for these vouchers. */
function SalesPlot({ points, currency, total }: PeriodPlotProps) {
  const title = 'Vouchers sold'
  const [most] = points.toSorted((one, other) => other.sales.paid - one.sales.paid)
  if (!most || total.vouchers === 0) return <NothingToPlot title={title} text="No vouchers were sold in this period." />
  const money = (amount: number) => formatMoney(amount, currency)
  const formatTick = (amount: number) => formatShortMoney(amount, currency)
  return (
    <Plot
      id="sales"
      title={title}
      summary={`${money(total.paid)} from ${formatNumberOf(total.vouchers, 'voucher')}. Highest: ${most.name}, ${money(most.sales.paid)}.`}
      points={points.map(({ name, tick, sales, filters }) => ({
        ...{ tick, filters },
        description: `${name}: ${money(sales.paid)} from ${formatNumberOf(sales.vouchers, 'voucher')}`,
      }))}
      panels={[
        { label: 'Paid', values: points.map(({ sales }) => sales.paid), height: 150, formatTick },
        {
          label: 'Number',
          values: points.map(({ sales }) => sales.vouchers),
          height: 56,
          formatTick: formatShortCount,
        },
      ]}
      table={{
        rows: points,
        columns: [
          nameColumn,
          numberColumn<Point>('Paid', ({ sales }) => sales.paid, money),
          vouchersColumn<Point>(({ sales, filters }) => ({ vouchers: sales.vouchers, filters })),
        ],
      }}
    />
  )
}

/** For the vouchers sold in each interval, plots the share of their balances that has been redeemed until now. */
function RedeemedPlot({ points, currency, total }: PeriodPlotProps) {
  const title = 'Redeemed to date, by sale period'
  const share = redeemedShare(total)
  if (share === null) return <NothingToPlot title={title} text="No vouchers with a balance were sold in this period." />
  const money = (amount: number) => formatMoney(amount, currency)
  const words = (part: number | null) => (part === null ? 'nothing sold' : formatShare(part))
  const shareOf = ({ sales }: Point) => redeemedShare(sales)
  const amounts = ({ redeemed, value }: Sales) => `${money(redeemed)} of ${money(value)}`
  const describe = (point: Point, part: number | null) =>
    part === null
      ? `${point.name}: nothing was sold`
      : `Sold in ${point.name}: ${formatShare(part)} redeemed, ${amounts(point.sales)}`
  const without = describeVouchersWithoutBalance(total)
  return (
    <Plot
      id="redeemed"
      title={title}
      summary={[
        `${formatShare(share)} of their balances has been redeemed: ${amounts(total)}.`,
        without && `Of ${formatNumberOf(total.vouchers, 'voucher')}, ${without}.`,
      ]
        .filter(Boolean)
        .join(' ')}
      points={points.map(point => ({ ...point, description: describe(point, shareOf(point)) }))}
      panels={[
        {
          label: 'Redeemed',
          rest: 'Not redeemed',
          values: points.map(shareOf),
          height: 190,
          formatTick: formatShare,
        },
      ]}
      table={{
        rows: points,
        columns: [
          { ...nameColumn, heading: 'Sold in' },
          { ...numberColumn<Point>('Redeemed', shareOf, formatShare), cell: point => words(shareOf(point)) },
          numberColumn<Point>('Amount', ({ sales }) => sales.redeemed, money),
        ],
      }}
    />
  )
}

/** Plots the numbers of given and withdrawn consents to marketing over time. */
function ConsentPlot({ periods, by }: { periods: readonly ConsentPeriod[]; by: Interval }) {
  const title = 'Consents to marketing'
  const { given, withdrawn } = sumConsents(periods)
  if (given + withdrawn === 0) {
    return <NothingToPlot title={title} text="No consent was given or withdrawn in this period." />
  }
  const words = (news: number, ends: number) => `${formatCount(news)} new, ${formatCount(ends)} withdrawn`
  const name = (period: ConsentPeriod) => namePeriod(period, by)
  const formatTick = formatShortCount
  return (
    <Plot
      id="consents"
      title={title}
      summary={`${words(given, withdrawn)}.`}
      points={periods.map(period => ({
        tick: labelPeriod(period, by, periods.length > 12),
        description: `${name(period)}: ${words(period.given, period.withdrawn)}`,
      }))}
      panels={[
        { label: 'New', values: periods.map(period => period.given), height: 190, formatTick },
        { label: 'Withdrawn', values: periods.map(period => period.withdrawn), height: 60, formatTick },
      ]}
      table={{
        rows: periods,
        columns: [
          { heading: 'Period', cell: name, sortBy: ({ from }) => from },
          numberColumn<ConsentPeriod>('New', period => period.given, formatCount),
          numberColumn<ConsentPeriod>('Withdrawn', period => period.withdrawn, formatCount),
        ],
      }}
    />
  )
}
