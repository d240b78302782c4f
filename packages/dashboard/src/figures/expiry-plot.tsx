import { formatDay, formatMoney, formatNumberOf, formatShortMoney } from '../format.ts'
import { addDays, startOfMonth } from '../period.ts'
import { NothingToPlot } from '../placeholders.tsx'
import { Plot } from '../plots/plot.tsx'
import { numberColumn } from '../tables/data-table.tsx'
import { type Filters, outstandingIn } from '../vouchers/filter.ts'
import { vouchersColumn } from '../vouchers/vouchers-link.tsx'
import { type Expiry, expiriesOf } from './expiry.ts'
import { type Currency, describeWithoutBalance, type Outstanding } from './model.ts'

const nameExpiry = ({ month }: Expiry) =>
  month === 'later' ? 'Later' : month === 'never' ? 'Without an end' : formatDay(month, 'month')

/**
 * The outstanding balance by its month of expiry.
 *
 * @param today the present day in the time zone of the figures, `YYYY-MM-DD`
 */
export function ExpiryPlot({
  outstanding,
  currency,
  today,
}: {
  outstanding: Outstanding | undefined
  currency: Currency
  today: string
}) {
  const title = 'Outstanding balance, by month of expiry'
  if (!outstanding || outstanding.vouchers === 0)
    return <NothingToPlot title={title} text="No balance is outstanding." />
  const money = (amount: number) => formatMoney(amount, currency)
  const rows = expiriesOf(outstanding.byExpiry, today)
  const rest = (month: Expiry['month']) => rows.find(row => row.month === month)
  const [later, never] = [rest('later'), rest('never')]
  // Each bar is one month, because a bar with several months would make the other bars small.
  const months = rows.filter(row => row !== later && row !== never)
  const [most] = months.toSorted((one, other) => other.balance - one.balance)
  const filtersOf = ({ month, vouchers }: Expiry): Filters | null => {
    const held = outstandingIn(currency)
    if (held === null || vouchers === 0 || month === 'never') return null
    const first = month === 'later' ? startOfMonth(months.at(-1)?.month ?? today, -1) : month
    return {
      ...held,
      'valid-from': first,
      ...(month !== 'later' && { 'valid-to': addDays(startOfMonth(month, -1), -1) }),
    }
  }
  const summary = [
    `${[`${money(outstanding.balance)} on ${formatNumberOf(outstanding.vouchers, 'voucher')}`, describeWithoutBalance(outstanding)].filter(Boolean).join(', ')}.`,
    most && `Most expires in ${nameExpiry(most)}: ${money(most.balance)}.`,
    later && `${money(later.balance)} expires later than the plot shows.`,
    never && `${money(never.balance)} does not expire.`,
  ]
    .filter(Boolean)
    .join(' ')
  if (months.length === 0) return <NothingToPlot title={title} text={summary} />
  return (
    <Plot
      id="expiry"
      title={title}
      summary={summary}
      rest={0}
      points={months.map(row => ({
        tick: formatDay(row.month, 'monthOfYear'),
        filters: filtersOf(row),
        description: `${nameExpiry(row)}: ${money(row.balance)} on ${formatNumberOf(row.vouchers, 'voucher')}`,
      }))}
      panels={[
        {
          series: [{ label: 'Balance', color: 'plot-first' }],
          values: months.map(({ balance }) => [balance]),
          height: 190,
          formatTick: tick => formatShortMoney(tick, currency),
        },
      ]}
      table={{
        rows,
        columns: [
          { heading: 'Expires in', cell: nameExpiry, sortBy: ({ month }) => month },
          numberColumn<Expiry>('Balance', ({ balance }) => balance, money),
          vouchersColumn<Expiry>(
            ({ vouchers }) => vouchers,
            row => ({ filters: filtersOf(row) }),
          ),
        ],
      }}
    />
  )
}
