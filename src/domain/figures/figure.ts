/** The types of a request for figures, and of the rows that the request returns. */

import type { VoucherStatus } from '../record/voucher-status.ts'
import type { Instant } from '../value/instant.ts'
import type { Days, FigureInterval } from './period.ts'

/** Vouchers whose balance is unknown. Sums of balances do not include these vouchers. */
export interface WithoutBalance {
  vouchers: number
  /** The sum of the amounts that buyers paid for these vouchers. */
  paid: number
}

/** The vouchers of one currency that were purchased in a period. The amounts do not include void vouchers. */
export interface SalesFigure {
  /** Null for vouchers without a currency. Such vouchers have no amounts. */
  currency: string | null
  vouchers: number
  value: number
  paid: number
  redeemed: number
  voided: number
  withoutBalance: WithoutBalance
}

/** The sales of one interval of a period. */
export interface FigurePeriod extends Days {
  start: Instant
  end: Instant
  sales: SalesFigure[]
}

export interface ConsentPeriod extends Omit<FigurePeriod, 'sales'> {
  given: number
  withdrawn: number
}

/** The number and the balances of vouchers of one currency. */
export interface BalanceFigure {
  currency: string | null
  vouchers: number
  balance: number
  withoutBalance: WithoutBalance
}

/**
 * The vouchers of one currency that can be redeemed now or later, grouped by the month in which their validity ends.
 */
export interface OutstandingFigure extends BalanceFigure {
  byExpiry: ExpiryFigure[]
}

/** The vouchers whose validity ends in one month. */
export interface ExpiryFigure {
  /** The first day of the month, `YYYY-MM-DD`; null for vouchers that do not expire. */
  month: string | null
  vouchers: number
  balance: number
}

export interface StatusFigure {
  status: VoucherStatus
  vouchers: number
  /** The share of this status in all vouchers, from 0 to 1. */
  share: number
  /** The sums by currency; empty for a status with which no balance is left. */
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
  /** True when the figures include all tenants below `tenantId` for which the token is authorised. */
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
  /** The currency of the sales that count. Null for all currencies; then `PAID` gives one ranking per currency. */
  currency: string | null
}

/** The figures that a request has selected. */
export interface Selection {
  periods: boolean
  totals: boolean
  consents: boolean
  outstanding: boolean
  status: boolean
  /** For each list of expiring vouchers: the number of days within which its vouchers expire. */
  expiring: number[]
  topProducts: ProductRanking[]
}

/** A request, with all figures of it that were selected since the last read. */
export interface FiguresRead {
  readonly request: FiguresRequest
  selection: Selection
}

/** The result of a request for figures. A figure that was not selected is empty. */
export interface Figures {
  /** The instant of the figures. All changes that were committed before this instant are in the figures. */
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
