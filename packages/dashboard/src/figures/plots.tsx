// The plots of the figures of one currency.
import { formatMoney, formatNumberOf, formatShare, formatShortCount, formatShortMoney } from '../format.ts'
import type { Interval } from '../period.ts'
import { NothingToPlot } from '../placeholders.tsx'
import { Plot } from '../plots/plot.tsx'
import { type Column, numberColumn } from '../tables/data-table.tsx'
import { type Filters, soldIn } from '../vouchers/filter.ts'
import { vouchersColumn } from '../vouchers/vouchers-link.tsx'
import {
  type Currency,
  describeWithoutBalance,
  type FigurePeriod,
  labelPeriod,
  namePeriod,
  redeemedShare,
  type Sales,
  salesIn,
} from './model.ts'

interface PeriodPlotProps {
  periods: readonly FigurePeriod[]
  by: Interval
  currency: Currency
}

/** An interval with its sales. */
interface Point {
  name: string
  tick: string
  sales: Sales
  period: FigurePeriod
  /** The filters that select the vouchers of the interval in the list; null when the list cannot show them. */
  filters: Filters | null
}

function pointsOf({ periods, by, currency }: PeriodPlotProps): Point[] {
  const severalYears = periods.length > 12
  return periods.map(period => {
    const sales = salesIn(period.sales, currency)
    return {
      name: namePeriod(period, by),
      tick: labelPeriod(period, by, severalYears),
      sales,
      period,
      filters: sales.vouchers > 0 ? soldIn(period, currency) : null,
    }
  })
}

const nameColumn: Column<Point> = { heading: 'Period', cell: ({ name }) => name, sortBy: ({ period }) => period.from }

/** Plots the amounts paid for the vouchers sold, and their number, over time. */
export function SalesPlot(props: PeriodPlotProps & { total: Sales }) {
  const { currency, total } = props
  const points = pointsOf(props)
  const title = 'Vouchers sold'
  const [most] = points.toSorted((one, other) => other.sales.paid - one.sales.paid)
  if (!most || total.vouchers === 0) return <NothingToPlot title={title} text="No vouchers were sold in this period." />
  const money = (amount: number) => formatMoney(amount, currency)
  return (
    <Plot
      id="sales"
      title={title}
      summary={`${money(total.paid)} from ${formatNumberOf(total.vouchers, 'voucher')}. Highest: ${most.name}, ${money(most.sales.paid)}.`}
      points={points.map(({ name, tick, sales, filters }) => ({
        tick,
        filters,
        description: `${name}: ${money(sales.paid)} from ${formatNumberOf(sales.vouchers, 'voucher')}`,
      }))}
      panels={[
        {
          series: [{ label: 'Paid', color: 'plot-first' }],
          values: points.map(({ sales }) => [sales.paid]),
          height: 150,
          formatTick: tick => formatShortMoney(tick, currency),
        },
        {
          series: [{ label: 'Number', color: 'plot-second' }],
          values: points.map(({ sales }) => [sales.vouchers]),
          height: 56,
          formatTick: formatShortCount,
        },
      ]}
      table={{
        rows: points,
        columns: [
          nameColumn,
          numberColumn<Point>('Paid', ({ sales }) => sales.paid, money),
          vouchersColumn<Point>(
            ({ sales }) => sales.vouchers,
            point => point,
          ),
        ],
      }}
    />
  )
}

/** For the vouchers sold in each interval, plots the share of their balances that has been redeemed until now. */
export function RedeemedPlot(props: PeriodPlotProps & { total: Sales }) {
  const { currency, total } = props
  const points = pointsOf(props)
  const title = 'Redeemed to date, by sale period'
  const share = redeemedShare(total)
  if (share === null) return <NothingToPlot title={title} text="No vouchers with a balance were sold in this period." />
  const money = (amount: number) => formatMoney(amount, currency)
  const words = ({ sales }: Point) => {
    const part = redeemedShare(sales)
    return part === null ? 'nothing sold' : formatShare(part)
  }
  return (
    <Plot
      id="redeemed"
      title={title}
      summary={[
        `${formatShare(share)} of their balances has been redeemed: ${money(total.redeemed)} of ${money(total.value)}.`,
        total.withoutBalance.vouchers > 0 &&
          `Of ${formatNumberOf(total.vouchers, 'voucher')}, ${describeWithoutBalance(total)}.`,
      ]
        .filter(Boolean)
        .join(' ')}
      points={points.map(point => ({
        tick: point.tick,
        filters: point.filters,
        description:
          redeemedShare(point.sales) === null
            ? `${point.name}: nothing was sold`
            : `Sold in ${point.name}: ${words(point)} redeemed, ${money(point.sales.redeemed)} of ${money(point.sales.value)}`,
      }))}
      panels={[
        {
          series: [
            { label: 'Redeemed', color: 'plot-first' },
            { label: 'Not redeemed', color: 'plot-rest', hatched: true },
          ],
          values: points.map(({ sales }) => {
            const part = redeemedShare(sales)
            return part === null ? [0, 0] : [part, 1 - part]
          }),
          height: 190,
          ticks: [0, 0.25, 0.5, 0.75, 1],
          formatTick: formatShare,
        },
      ]}
      table={{
        rows: points,
        columns: [
          { ...nameColumn, heading: 'Sold in' },
          { heading: 'Redeemed', cell: words, sortBy: ({ sales }) => redeemedShare(sales), numeric: true },
          numberColumn<Point>('Amount', ({ sales }) => sales.redeemed, money),
        ],
      }}
    />
  )
}
