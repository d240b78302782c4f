// The months in which an outstanding balance expires, without gaps.
import { addAmounts } from '../format.ts'
import { startOfMonth } from '../period.ts'
import type { Outstanding } from './model.ts'

/** The balances and vouchers that expire in a month. */
export interface Expiry {
  /** The first day of the month; `later`: after the last month that is shown; `never`: it does not expire. */
  month: string | 'later' | 'never'
  vouchers: number
  balance: number
}

/**
 * Returns all months from the current month to the last month with an expiry, then an entry for later months and an
 * entry for vouchers that do not expire, if there are any.
 *
 * @param today `YYYY-MM-DD`
 * @param most how many months are shown
 */
export function expiriesOf(byExpiry: Outstanding['byExpiry'], today: string, most = 36): Expiry[] {
  const dated = byExpiry.flatMap(({ month, ...figure }) => (month === null ? [] : [{ month, ...figure }]))
  const last = dated.reduce((latest, { month }) => (month > latest ? month : latest), '')
  const months: Expiry[] = []
  for (let month = startOfMonth(today, 0); month <= last && months.length < most; month = startOfMonth(month, -1)) {
    months.push({ vouchers: 0, balance: 0, ...dated.find(figure => figure.month === month), month })
  }
  const end = months.at(-1)?.month ?? ''
  const rest = (month: Expiry['month'], figures: readonly Omit<Expiry, 'month'>[]): Expiry[] =>
    figures.length === 0
      ? []
      : [
          {
            month,
            vouchers: figures.reduce((all, { vouchers }) => all + vouchers, 0),
            balance: addAmounts(figures.map(({ balance }) => balance)),
          },
        ]
  const later = dated.filter(({ month }) => month > end)
  const never = byExpiry.filter(({ month }) => month === null)
  return [...months, ...rest('later', later), ...rest('never', never)]
}
