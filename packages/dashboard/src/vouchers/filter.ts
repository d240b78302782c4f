// Converts the filters and the sort order of vouchers between the URL and the API.
import { statuses } from '../figures/status-words.ts'
import { startOfDay } from '../instant.ts'
import type { DashboardVouchersQueryVariables, PurchasedVoucherOrderField, VoucherStatus } from '../operations.ts'
import { addDays, type Days, isDay } from '../period.ts'
import type { Params } from '../view.ts'

/** The parameters of the URL that filter and sort vouchers, and the cursors of the page. */
export const filterNames = [
  ...(['text', 'status', 'product', 'bought-from', 'bought-to', 'valid-from', 'valid-to'] as const),
  ...(['in', 'least', 'most', 'of', 'sort', 'after', 'before'] as const),
]

export type FilterName = (typeof filterNames)[number]

/** The values of the filters in the URL. */
export type Filters = Partial<Record<FilterName, string>>

/** An empty value for each filter, for a link that sets some filters and must remove all others. */
export const noFilters: Params = Object.fromEntries(filterNames.map(name => [name, '']))

/** The filter of the vouchers that count as sold. */
const soldStatusFilter = { status: statuses.filter(status => status !== 'VOID').join() }

/**
 * Returns the filters that select the vouchers sold; null when `currency` is null, because no filter finds vouchers
 * without a currency.
 *
 * @param days the days of purchase; with null, the filters always use the current period and currency of the view
 */
export const soldFilters = (days: Days | null, currency: string | null): Filters | null =>
  currency === null
    ? null
    : {
        ...soldStatusFilter,
        ...(days ? { 'bought-from': days.from, 'bought-to': days.to, in: currency } : { of: 'view' }),
      }

/** Returns the filters that select the outstanding vouchers in a currency; null when `currency` is null. */
export const outstandingFilters = (currency: string | null): Filters | null =>
  currency === null ? null : { status: 'REDEEMABLE,PART_REDEEMED,NOT_YET_VALID', in: currency }

/** Returns the parameters of a URL. Replaces `of=view` by the period and the currency of the view. */
export const resolveFilters = (params: Params, { from, to }: Days, currency: string | null): Params =>
  params.of === 'view' ? { ...params, 'bought-from': from, 'bought-to': to, in: currency ?? '' } : params

/** The sort field of the API for each name of a sortable column in the URL. */
const orderFields = {
  balance: 'BALANCE',
  purchased: 'PURCHASED_AT',
  'valid-until': 'VALID_UNTIL',
} as const satisfies Record<string, PurchasedVoucherOrderField>

const isOrderField = (text: string): text is keyof typeof orderFields => Object.hasOwn(orderFields, text)

/**
 * Returns the sort order in the URL; `-purchased` means descending. Without a valid order, the latest purchases come
 * first.
 */
export function readOrder(sort = '') {
  const field = sort.replace(/^-/, '')
  return isOrderField(field)
    ? { field, descending: sort.startsWith('-') }
    : { field: 'purchased' as const, descending: true }
}

/**
 * Removes an unknown sort order, for example of an old link. Also removes the cursors, because they are valid only for
 * that order.
 */
export const dropUnknownOrder = (params: Params): Params =>
  !params.sort || isOrderField(params.sort.replace(/^-/, '')) ? params : { ...params, sort: '', after: '', before: '' }

/** Returns the valid statuses in a parameter of the URL, separated by commas. */
export const readStatuses = (text = ''): VoucherStatus[] => statuses.filter(status => text.split(',').includes(status))

/** The time zone and the currency that the filters use. */
interface FilterDefaults {
  /** The time zone of the days, an IANA name. */
  timeZone: string
  /** The currency that the dashboard shows. Filters by balance use this currency by default. */
  currency: string | null
}

/**
 * Returns the currency of the filters. Without a chosen currency, it is `currency` when the list is filtered or sorted
 * by amount, otherwise an empty text.
 */
export function readCurrency(params: Params, currency: string | null): string {
  const hasAmounts = readAmount(params.least) !== null || readAmount(params.most) !== null
  return params.in || (hasAmounts || readOrder(params.sort).field === 'balance' ? (currency ?? '') : '')
}

/** Parses a typed amount; null when the text is not an amount. */
export function readAmount(text = ''): number | null {
  return /^\d{1,9}([.,]\d{1,3})?$/.test(text) ? Number(text.replace(',', '.')) : null
}

const dayOrNull = (text = '') => (isDay(text) ? text : null)

/** The filters and the sort order as arguments of the API. */
type VoucherQuery = Pick<DashboardVouchersQueryVariables, 'filter' | 'orderBy'>

/** Converts the parameters of a URL to the filters and the sort order of the API. Leaves out invalid values. */
export function toQuery(params: Params, { timeZone, currency: shown }: FilterDefaults): VoucherQuery {
  const [boughtFrom, boughtTo] = [dayOrNull(params['bought-from']), dayOrNull(params['bought-to'])]
  const [from, to] = [dayOrNull(params['valid-from']), dayOrNull(params['valid-to'])]
  const balance = { from: readAmount(params.least), to: readAmount(params.most) }
  const chosen = readStatuses(params.status)
  const currency = readCurrency(params, shown)
  const { field, descending } = readOrder(params.sort)
  return {
    filter: {
      ...(params.text?.trim() && { text: params.text.trim() }),
      ...(chosen.length > 0 && { status: chosen }),
      ...(params.product && /^\d{1,16}$/.test(params.product) && { productId: params.product }),
      ...((boughtFrom || boughtTo) && {
        purchased: {
          from: boughtFrom && startOfDay(boughtFrom, timeZone),
          before: boughtTo && startOfDay(addDays(boughtTo, 1), timeZone),
        },
      }),
      ...((from || to) && { validUntil: { from, to } }),
      ...(currency && { currency }),
      ...((balance.from !== null || balance.to !== null) && { balance }),
    },
    orderBy: { field: orderFields[field], direction: descending ? 'DESC' : 'ASC' },
  }
}
