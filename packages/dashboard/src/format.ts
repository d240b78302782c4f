// Formats numbers, amounts and days in the locale of the browser.
import { zoneOrUtc } from './instant.ts'

const countFormat = new Intl.NumberFormat()
const shortCountFormat = new Intl.NumberFormat(undefined, { notation: 'compact', maximumFractionDigits: 1 })

/** Formats a whole number: `1,204`. */
export const formatCount = (number: number): string => countFormat.format(number)

/** Formats a number with its noun: `1,204 vouchers`. */
export const formatNumberOf = (number: number, one: string): string =>
  `${formatCount(number)} ${number === 1 ? one : `${one}s`}`

/** A count in an answer of the API, which may have an upper limit. */
export interface Count {
  count: number
  precision: 'EXACT' | 'AT_LEAST'
}

/** Formats a count with its noun: `1,204 vouchers`, or `5,000+ vouchers` when the real number may be larger. */
export const formatCountOf = ({ count: number, precision }: Count, one: string): string =>
  precision === 'EXACT' ? formatNumberOf(number, one) : `${formatCount(number)}+ ${one}s`

/** Formats a number for an axis: `1.2K`. */
export const formatShortCount = (number: number): string => shortCountFormat.format(number)

/**
 * Formats a share as a percentage.
 *
 * @param share 0 to 1
 */
export function formatShare(share: number): string {
  // A small share above 0 must not be rounded to 0 %, and a share below 1 must not be rounded to 100 %.
  const digits = share > 0 && share < 1 && (share < 0.01 || share > 0.99) ? 1 : 0
  return new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: digits }).format(share)
}

/** Formats a change as a percentage with its sign: `+12%`. */
export const formatChange = (change: number): string =>
  new Intl.NumberFormat(undefined, {
    style: 'percent',
    signDisplay: 'exceptZero',
    maximumFractionDigits: Math.abs(change) < 0.0995 ? 1 : 0,
  }).format(change)

const amountFormats = new Map<string, Intl.NumberFormat>()

/**
 * Returns the number format of a currency. With a code that the browser does not know, the amount is a plain number
 * followed by the code.
 */
function amountFormat(currency: string | null, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const key = `${currency} ${JSON.stringify(options)}`
  const known = amountFormats.get(key)
  if (known) return known
  const isCode = currency !== null && /^[A-Za-z]{3}$/.test(currency)
  const format = new Intl.NumberFormat(undefined, { ...options, ...(isCode && { style: 'currency', currency }) })
  amountFormats.set(key, format)
  return format
}

/**
 * Formats an amount in its currency: `£1,204.50`. Browsers use fewer digits than ISO 4217 for some currencies, and
 * would round 25.50 ALL to 26. Therefore an amount with a fraction is shown with 2 or 3 digits, as many as its currency
 * has.
 *
 * @param amount in major units
 * @param currency an ISO 4217 code; null for an amount without a currency
 */
export function formatMoney(amount: number, currency: string | null): string {
  const usual = amountFormat(currency, { maximumFractionDigits: 3 })
  if (Number.isInteger(amount)) return usual.format(amount)
  // Browsers use the wrong number of digits for this currency, which has 3.
  const digits = currency === 'IQD' ? 3 : Math.max(2, usual.resolvedOptions().minimumFractionDigits ?? 0)
  return amountFormat(currency, { minimumFractionDigits: digits, maximumFractionDigits: 3 }).format(amount)
}

/** Formats an amount for an axis: `£1.2K`. */
export const formatShortMoney = (amount: number, currency: string | null): string =>
  Math.abs(amount) < 1000 && !Number.isInteger(amount)
    ? formatMoney(amount, currency)
    : amountFormat(currency, { notation: 'compact', maximumFractionDigits: 1 }).format(amount)

/** Returns the code of a currency, such as `GBP`, or a text for vouchers without a currency. */
export const nameCurrency = (currency: string | null): string => currency || 'no currency'

/** Adds amounts of one currency without rounding errors: it adds thousandths, the smallest unit of any currency. */
export const addAmounts = (amounts: readonly number[]): number =>
  amounts.reduce((total, amount) => total + Math.round(amount * 1000), 0) / 1000

const dayFormats = {
  day: new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', day: 'numeric', month: 'short', year: 'numeric' }),
  shortDay: new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', day: 'numeric', month: 'short' }),
  month: new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', month: 'long', year: 'numeric' }),
  shortMonth: new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', month: 'short' }),
  monthOfYear: new Intl.DateTimeFormat(undefined, { timeZone: 'UTC', month: 'short', year: 'numeric' }),
} as const

/** The style of a day: `day` (21 Nov 2026), `shortDay` (21 Nov), `month` (November 2026), `shortMonth` (Nov). */
type DayStyle = keyof typeof dayFormats

/**
 * Formats a calendar day in one of the styles.
 *
 * @param day `YYYY-MM-DD`
 */
export const formatDay = (day: string, style: DayStyle = 'day'): string =>
  dayFormats[style].format(new Date(`${day}T00:00:00Z`))

/** Formats a range of days: `3 – 16 Nov 2026`. When both days are the same, formats this one day. */
export const formatDays = (from: string, to: string): string =>
  from === to ? formatDay(from) : dayFormats.day.formatRange(new Date(`${from}T00:00:00Z`), new Date(`${to}T00:00:00Z`))

/**
 * Formats the time of day of an instant, with seconds, in a time zone: `09:14:05`.
 *
 * @param at milliseconds since the epoch
 */
export const formatTime = (at: number, timeZone: string): string =>
  new Intl.DateTimeFormat(undefined, { timeStyle: 'medium', timeZone: zoneOrUtc(timeZone) }).format(at)

/**
 * Formats an instant, without seconds, in a time zone: `21 Nov 2026, 09:14`.
 *
 * @param timeZone an IANA name; UTC when the browser does not know it
 */
export function formatInstant(instant: string, timeZone: string): string {
  const zone = zoneOrUtc(timeZone)
  const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', timeZone: zone })
  return `${format.format(new Date(instant))}${zone === timeZone ? '' : ' UTC'}`
}
