// Selects and formats the figures of a view in one currency.
import { sum } from '../../../charts/src/bar-plot.tsx'
import { formatCount, formatDay, formatDays, formatMoney, nameCurrency } from '../format.ts'
import type { DashboardFiguresQuery } from '../operations.ts'
import type { Days, Interval } from '../period.ts'

type TenantFigures = NonNullable<DashboardFiguresQuery['tenant']>

export type Figures = NonNullable<TenantFigures['figures']>

/** The figures of the compared days. */
export type ComparisonFigures = NonNullable<TenantFigures['before']>

/** One interval of the period, for example a month, with its sales. */
export type FigurePeriod = NonNullable<Figures['periods']>[number]

/** The numbers of given and withdrawn consents in one interval. */
export type ConsentPeriod = NonNullable<Figures['consents']>[number]

/** The number, the price and the value of the vouchers sold in one currency. */
export type Sales = NonNullable<Figures['totals']>[number]

/** The balances that are left on vouchers in one currency, with their months of expiry. */
export type Outstanding = NonNullable<Figures['outstanding']>[number]

/** A currency code; null for vouchers without a currency. */
export type Currency = string | null

const noVouchers = { vouchers: 0, paid: 0 }

/** Returns the sales in a currency; zeros when there are no sales in this currency. */
export const salesIn = (figures: readonly Sales[], currency: Currency): Sales =>
  figures.find(figure => figure.currency === currency) ?? {
    currency,
    vouchers: 0,
    value: 0,
    paid: 0,
    redeemed: 0,
    voided: 0,
    withoutBalance: noVouchers,
  }

/** Adds the consents of several intervals. */
export const sumConsents = (periods: readonly Pick<ConsentPeriod, 'given' | 'withdrawn'>[]) => ({
  given: sum(periods.map(({ given }) => given)),
  withdrawn: sum(periods.map(({ withdrawn }) => withdrawn)),
})

/** A balance in one currency. */
export type Balance = Omit<Outstanding, 'byExpiry'>

/** Returns the balance in a currency; zeros when there is no balance in this currency. */
export const balanceIn = (figures: readonly Balance[], currency: Currency): Balance =>
  figures.find(figure => figure.currency === currency) ?? {
    currency,
    vouchers: 0,
    balance: 0,
    withoutBalance: noVouchers,
  }

/**
 * Returns a text with the number of vouchers without a balance, and the amount paid for these vouchers: `206 of them
 * without a balance, as for an experience (£20,583.00 paid)`.
 *
 * @returns null when all vouchers have a balance
 */
export const describeVouchersWithoutBalance = ({
  currency,
  withoutBalance,
}: Pick<Sales, 'currency' | 'withoutBalance'>) =>
  withoutBalance.vouchers === 0
    ? null
    : `${formatCount(withoutBalance.vouchers)} of them without a balance, as for an experience (${formatMoney(withoutBalance.paid, currency)} paid)`

/** A sentence that explains vouchers without a balance below the tables. */
export const withoutBalanceNote =
  'Vouchers without a balance pay for a service, for example an experience, and not for an amount of money.'

/**
 * Returns a text with the balances that are left on vouchers: `£3,400.00 and €20.00 left, 5 unused without a balance`.
 */
export function describeRemaining(remaining: NonNullable<Figures['status']>[number]['remaining']): string {
  const amounts = remaining.flatMap(({ currency, balance }) => (balance > 0 ? [formatMoney(balance, currency)] : []))
  const without = sum(remaining.map(({ withoutBalance }) => withoutBalance.vouchers))
  const left = amounts.length > 0 && `${new Intl.ListFormat().format(amounts)} left`
  return [left, without > 0 && `${formatCount(without)} unused without a balance`].filter(Boolean).join(', ')
}

interface Amounts {
  totals: readonly Sales[] | null
  outstanding: readonly Balance[] | null
}

/**
 * Returns the currencies of figures: first the currency with the most vouchers sold, then the currency with the most
 * outstanding vouchers.
 */
export function currenciesOf({ totals, outstanding }: Amounts): Currency[] {
  const [sold, held] = [totals ?? [], outstanding ?? []]
  const found = new Set([...sold, ...held].map(({ currency }) => currency))
  const vouchers = (figures: readonly { currency: Currency; vouchers: number }[], currency: Currency) =>
    figures.find(figure => figure.currency === currency)?.vouchers ?? 0
  return [...found].sort(
    (one, other) => vouchers(sold, other) - vouchers(sold, one) || vouchers(held, other) - vouchers(held, one),
  )
}

/** Returns a sentence that names the currency of the sales, or says that there are no sales. */
export function describeSales(figures: Figures, currency: Currency): string {
  if (currenciesOf(figures).length > 0) return `What was sold, in ${nameCurrency(currency)}. ${withoutBalanceNote}`
  const hasVouchers = figures.status?.some(({ vouchers }) => vouchers > 0) === true
  return hasVouchers ? 'No vouchers were sold in this period.' : 'There are no sales yet.'
}

/** Returns the redeemed share of the value of the vouchers, 0 to 1; null when the value is zero. */
export const redeemedShare = ({ value, redeemed }: Pick<Sales, 'value' | 'redeemed'>): number | null =>
  value > 0 ? redeemed / value : null

const isWholeMonth = ({ from, to }: Days) => {
  const [year = 0, month = 0] = from.split('-').map(Number)
  return from.endsWith('-01') && Number(to.slice(8)) === new Date(Date.UTC(year, month, 0)).getUTCDate()
}

/** Returns the name of an interval: `November 2026` for a whole month, otherwise its days. */
export const namePeriod = (days: Days, by: Interval): string =>
  by === 'MONTH' && isWholeMonth(days) ? formatDay(days.from, 'month') : formatDays(days.from, days.to)

/**
 * Returns the label of an interval on an axis.
 *
 * @param severalYears true when a month without its year would be ambiguous
 */
export const labelPeriod = ({ from }: Days, by: Interval, severalYears: boolean): string =>
  formatDay(from, by !== 'MONTH' ? 'shortDay' : severalYears ? 'monthOfYear' : 'shortMonth')
