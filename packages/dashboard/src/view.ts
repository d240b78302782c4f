// The view of the dashboard. The URL contains the whole view, so that a link reproduces the view.
import { type Comparison, comparedDays, comparisons } from './comparison.ts'
import {
  type Days,
  daysOf,
  defaultInterval,
  findFault,
  type Interval,
  intervals,
  isIntervalAllowed,
  type Period,
  presets,
} from './period.ts'

/** Parameters of the address. */
export type Params = Readonly<Record<string, string>>

/** The values that decide what the dashboard shows. */
export interface View {
  /** The numeric id of a tenant that the token may see. */
  tenant: string
  /** True when the descendants of the tenant are included, as far as the token may see them. */
  withDescendants: boolean
  period: Period
  /** The first day of the period, `YYYY-MM-DD`. */
  from: string
  /** The last day of the period, `YYYY-MM-DD`. */
  to: string
  by: Interval
  comparison: Comparison
  /** The days with which the period is compared; null for no comparison. */
  compared: Days | null
  /** The IANA time zone of the days; null: the tenant's time zone. */
  timeZone: string | null
  /** A currency code; null when none is chosen. */
  currency: string | null
  /** True when live updates of the figures are on. */
  isLive: boolean
  /** The global id of the voucher that is shown in place of the figures. */
  voucher: string | null
  /** All other parameters of the URL, such as the filters of a table. */
  params: Params
}

/** The values in a URL. The tenant, the days and the interval can be missing. */
export interface Address extends Omit<View, 'tenant' | 'from' | 'to' | 'by' | 'compared'> {
  /** One sentence per invalid value in the URL. Each sentence names the value that is used instead. */
  faults: readonly string[]
  tenant: string | null
  days: Days | null
  by: Interval | null
}

/**
 * A change of the view. `params` are merged with the current parameters, and an empty parameter is removed. `from` and
 * `to` are the first and the last day of a custom period.
 */
export type Change = Partial<Omit<View, 'compared'>>

/** Shows another view. `push` (the default) adds an entry to the history, `replace` replaces the current entry. */
export type Go = (change: Change, how?: 'push' | 'replace') => void

const viewParameters = [
  'tenant',
  'below',
  'period',
  'from',
  'to',
  'by',
  'compare',
  'zone',
  'currency',
  'voucher',
  'live',
]

/** The properties on which the rows of the tables depend, except for their filters. */
const listProperties = ['tenant', 'withDescendants', 'period', 'from', 'to', 'timeZone', 'currency'] as const

const defaultPeriod = 'last-12-months'
const defaultComparison = 'last-year'

/** Reads a query string. Invalid values are replaced by the default, and `faults` names each of them. */
export function readAddress(search: string): Address {
  const query = new URLSearchParams(search)
  const days = { from: query.get('from') ?? '', to: query.get('to') ?? '' }
  const dayFault = findFault(days)
  const isCustom = dayFault === null
  const textOf = (name: string) => query.get(name)?.trim() ?? ''
  const [tenant, period, code, compare] = [textOf('tenant'), textOf('period'), textOf('currency'), textOf('compare')]
  const isTenant = /^[1-9]\d{0,15}$/.test(tenant)
  const preset = presets.find(name => name === period)
  const comparison = comparisons.find(name => name === compare)
  const currency = /^[a-z]{3}$/i.test(code) ? code.toUpperCase() : null
  const faults = [
    tenant !== '' && !isTenant
      ? `“${tenant}” in the address is not the number of a tenant: the first tenant is shown.`
      : null,
    dayFault !== null && (days.from || days.to)
      ? `The days in the address are not a period: another period is shown. ${dayFault}`
      : null,
    period !== '' && !preset ? `“${period}” in the address is not a period: another period is shown.` : null,
    code !== '' && currency === null
      ? `“${code}” in the address is not a currency code such as GBP: the most sold one is shown.`
      : null,
    compare !== '' && !comparison
      ? `“${compare}” in the address is not a comparison: the same days of last year are compared.`
      : null,
  ]
  return {
    faults: faults.filter(fault => fault !== null),
    tenant: isTenant ? tenant : null,
    withDescendants: query.get('below') !== 'no',
    period: isCustom ? 'custom' : (preset ?? defaultPeriod),
    days: isCustom ? days : null,
    by: intervals.find(name => name.toLowerCase() === query.get('by')) ?? null,
    comparison: comparison ?? defaultComparison,
    timeZone: query.get('zone') || null,
    currency,
    isLive: query.get('live') !== 'no',
    voucher: query.get('voucher') || null,
    params: Object.fromEntries([...query].filter(([name]) => !viewParameters.includes(name))),
  }
}

/**
 * Completes the values of a URL with defaults, and returns the view.
 *
 * @param tenant the default tenant, for a URL without a tenant
 * @param today the current day in the time zone of the view, `YYYY-MM-DD`
 */
export function resolveView({ days, by, faults: _faults, ...address }: Address, tenant: string, today: string): View {
  const { from, to } = days ?? daysOf(address.period === 'custom' ? defaultPeriod : address.period, today)
  const interval = by !== null && isIntervalAllowed({ from, to }, by) ? by : defaultInterval({ from, to })
  const compared = comparedDays({ from, to }, address.comparison, today)
  return { ...address, tenant: address.tenant ?? tenant, from, to, by: interval, compared }
}

/** Returns the query string of a view after a change. Leaves out default values. */
export function hrefOf(view: View, change: Change = {}): string {
  const moved = change.tenant !== undefined && change.tenant !== view.tenant
  // A cursor is valid only in the list from which it came. Two lists are the same only when all these properties are
  // equal.
  const isOtherList = listProperties.some(name => change[name] !== undefined && change[name] !== view[name])
  const typed = change.from !== undefined || change.to !== undefined
  const next: View = {
    ...view,
    // The open voucher and the page of a table do not exist for another tenant.
    ...(moved && { voucher: null, timeZone: null }),
    ...(typed && { period: 'custom' }),
    ...change,
    params: { ...(moved ? {} : view.params), ...(isOtherList && { after: '', before: '' }), ...change.params },
  }
  const query = new URLSearchParams({ tenant: next.tenant })
  if (!next.withDescendants) query.set('below', 'no')
  if (next.period !== 'custom') query.set('period', next.period)
  else {
    query.set('from', next.from)
    query.set('to', next.to)
  }
  const otherPeriod = next.period !== view.period || typed
  // Keeps the chosen interval only for the same period, because the interval may not fit another period.
  if (change.by || (!otherPeriod && view.by !== defaultInterval(view))) query.set('by', next.by.toLowerCase())
  if (next.comparison !== defaultComparison) query.set('compare', next.comparison)
  if (next.timeZone) query.set('zone', next.timeZone)
  if (next.currency) query.set('currency', next.currency)
  if (!next.isLive) query.set('live', 'no')
  if (next.voucher) query.set('voucher', next.voucher)
  for (const [name, value] of Object.entries(next.params)) {
    if (value && !viewParameters.includes(name)) query.set(name, value)
  }
  return `?${query}`
}
