// A plot of the outstanding balance, with one bar per month of expiry.
import { sum } from '../../../charts/src/bar-plot.tsx'
import { addAmounts, formatDay, formatMoney, formatNumberOf, formatShortMoney } from '../format.ts'
import { addDays, startOfMonth } from '../period.ts'
import { NothingToPlot } from '../placeholders.tsx'
import { Plot } from '../plots/plot.tsx'
import { numberColumn } from '../tables/data-table.tsx'
import { type Filters, outstandingFilters } from '../vouchers/filter.ts'
import { vouchersColumn } from '../vouchers/vouchers-link.tsx'
import { type Currency, describeVouchersWithoutBalance, type Outstanding } from './model.ts'

/** The maximum number of months in the plot. */
const maxMonths = 36

/** The number and the total balance of the vouchers that expire in one month. */
interface Expiry {
  /** The first day of the month. `later`: after the last month of the plot. `never`: the vouchers do not expire. */
  month: string | 'later' | 'never'
  vouchers: number
  balance: number
}

/**
 * Returns all months from the current month to the last month with an expiry, then an entry for later months and an
 * entry for vouchers that do not expire, if there are any.
 *
 * @param today `YYYY-MM-DD`
 */
function expiriesOf(byExpiry: Outstanding['byExpiry'], today: string): Expiry[] {
  const dated = byExpiry.flatMap(({ month, ...figure }) => (month === null ? [] : [{ month, ...figure }]))
  const last = dated.reduce((latest, { month }) => (month > latest ? month : latest), '')
  const months: Expiry[] = []
  for (
    let month = startOfMonth(today, 0);
    month <= last && months.length < maxMonths;
    month = startOfMonth(month, -1)
  ) {
    months.push({ vouchers: 0, balance: 0, ...dated.find(figure => figure.month === month), month })
  }
  const end = months.at(-1)?.month ?? ''
  const rest = (month: Expiry['month'], figures: readonly Omit<Expiry, 'month'>[]): Expiry[] => {
    if (figures.length === 0) return []
    const balance = addAmounts(figures.map(({ balance }) => balance))
    return [{ month, vouchers: sum(figures.map(({ vouchers }) => vouchers)), balance }]
  }
  const later = dated.filter(({ month }) => month > end)
  const never = byExpiry.filter(({ month }) => month === null)
  return [...months, ...rest('later', later), ...rest('never', never)]
}

const nameExpiry = ({ month }: Expiry) =>
  month === 'later' ? 'Later' : month === 'never' ? 'Without an end' : formatDay(month, 'month')

interface ExpiryPlotProps {
  outstanding: Outstanding | undefined
  currency: Currency
  /** The current day in the time zone of the figures, `YYYY-MM-DD`. */
  today: string
}

/** Plots the outstanding balance by its month of expiry. */
export function ExpiryPlot({ outstanding, currency, today }: ExpiryPlotProps) {
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
    const held = outstandingFilters(currency)
    if (held === null || vouchers === 0 || month === 'never') return null
    const first = month === 'later' ? startOfMonth(months.at(-1)?.month ?? today, -1) : month
    const last = month === 'later' ? {} : { 'valid-to': addDays(startOfMonth(month, -1), -1) }
    return { ...held, 'valid-from': first, ...last }
  }
  const without = describeVouchersWithoutBalance(outstanding)
  const held = `${money(outstanding.balance)} on ${formatNumberOf(outstanding.vouchers, 'voucher')}`
  const summary = [
    `${held}${without ? `, ${without}` : ''}.`,
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
          ...{ label: 'Balance', values: months.map(({ balance }) => balance), height: 190 },
          formatTick: amount => formatShortMoney(amount, currency),
        },
      ]}
      table={{
        rows,
        columns: [
          { heading: 'Expires in', cell: nameExpiry, sortBy: ({ month }) => month },
          numberColumn<Expiry>('Balance', ({ balance }) => balance, money),
          vouchersColumn<Expiry>(row => ({ ...row, filters: filtersOf(row) })),
        ],
      }}
    />
  )
}
