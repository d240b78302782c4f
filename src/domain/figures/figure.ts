/** The types of figures: the rows that a read of them returns. */

import type { VoucherStatus } from '../record/voucher-status.ts'
import type { Instant } from '../value/instant.ts'
import type { Days, FigureInterval } from './period.ts'

/** Vouchers without a balance, which sums of balances leave out. */
export interface WithoutBalance {
  vouchers: number
  /** The sum of the amounts paid for them. */
  paid: number
}

/** Sold vouchers of one currency, by their purchase. The amounts leave out void vouchers. */
export interface SalesFigure {
  /** Null for vouchers without a currency, which have no amounts. */
  currency: string | null
  vouchers: number
  value: number
  paid: number
  redeemed: number
  voided: number
  withoutBalance: WithoutBalance
}

/** An interval of a period. */
export interface FigurePeriod extends Days {
  start: Instant
  end: Instant
  sales: SalesFigure[]
}

export interface ConsentPeriod extends Omit<FigurePeriod, 'sales'> {
  given: number
  withdrawn: number
}

/** The balances of vouchers of one currency. */
export interface BalanceFigure {
  currency: string | null
  vouchers: number
  balance: number
  withoutBalance: WithoutBalance
}

/** Vouchers of one currency that can be redeemed, now or later, by the end of their validity. */
export interface OutstandingFigure extends BalanceFigure {
  byExpiry: ExpiryFigure[]
}

/** Vouchers whose validity ends in a month. */
export interface ExpiryFigure {
  /** The first day of the month, `YYYY-MM-DD`; null for vouchers that do not expire. */
  month: string | null
  vouchers: number
  balance: number
}

export interface StatusFigure {
  status: VoucherStatus
  vouchers: number
  /** The share of all vouchers, 0 to 1. */
  share: number
  /** The sums by currency; empty when no balance is left. */
  remaining: BalanceFigure[]
}

export interface ProductFigure {
  productId: number
  title: string | null
  currency: string | null
  vouchers: number
  paid: number
  value: number
}

export interface FiguresRequest {
  tenantId: number
  /** True when the figures include the tenants below it for which the token is authorised. */
  withDescendants: boolean
  /** The intervals of the period, in order and without gaps. */
  intervals: readonly Days[]
  by: FigureInterval
  /** The IANA time zone of the calendar days; null for the tenant's time zone. */
  timeZone: string | null
}

export interface ProductRanking {
  first: number
  by: 'PAID' | 'VOUCHERS'
  /** Only sales in this currency; null for all: then the order by amount ranks each currency by itself. */
  currency: string | null
}

/** The figures that one request asks for. */
export interface Selection {
  periods: boolean
  totals: boolean
  consents: boolean
  outstanding: boolean
  status: boolean
  /** The days within which vouchers expire, for each list of expiring vouchers. */
  expiring: number[]
  topProducts: ProductRanking[]
}

/** One request, with all figures that were selected since the last read. */
export interface FiguresRead {
  readonly request: FiguresRequest
  selection: Selection
}

/** The figures that were read. Figures that were not selected are empty. */
export interface Figures {
  /** Every change that was committed before this instant is in the figures. */
  asOf: Instant
  timeZone: string
  periods: FigurePeriod[]
  totals: SalesFigure[]
  consents: ConsentPeriod[]
  outstanding: OutstandingFigure[]
  status: StatusFigure[]
  expiring: OutstandingFigure[][]
  topProducts: ProductFigure[][]
}
