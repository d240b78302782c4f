import type { ComponentChildren } from 'preact'
import { formatCount } from '../format.ts'
import { type Column, numberColumn } from '../tables/data-table.tsx'
import type { Change, Go } from '../view.ts'
import { goTo, ViewLink } from '../view-link.tsx'
import { type Filters, noFilters } from './filter.ts'

/** The id of the section with the tables. */
export const tablesId = 'tables'

/** Returns the change of the view that opens the list of vouchers with these filters. */
const createChange = (filters: Filters): Change => ({
  voucher: null,
  params: { ...noFilters, table: 'vouchers', ...filters },
})

/** Shows the list of vouchers with these filters, and scrolls to the list, which is below the figures. */
export const showVouchers = (go: Go, filters: Filters): void => goTo(go, createChange(filters), tablesId)

/** Selects the vouchers that a figure counts. */
export interface VouchersTarget {
  /** The filters of the list; null when no filters select the vouchers that the figure counts. */
  filters: Filters | null
  /** Further changes of the view, for a figure of another tenant or currency. */
  change?: Change
}

/** A link to the vouchers that a figure counts; plain text when no filters select these vouchers. */
export const VouchersLink = ({ filters, change, children }: VouchersTarget & { children: ComponentChildren }) =>
  filters === null ? (
    children
  ) : (
    <ViewLink change={{ ...change, ...createChange(filters) }} reveals={tablesId}>
      {children}
    </ViewLink>
  )

/**
 * Returns the column with the number of vouchers of each row, which is a link to these vouchers. A null number is
 * unknown.
 */
export const vouchersColumn = <Row,>(of: (row: Row) => VouchersTarget & { vouchers: number | null }): Column<Row> => {
  const link = (count: number, row: Row) => <VouchersLink {...of(row)}>{formatCount(count)}</VouchersLink>
  return numberColumn(
    'Vouchers',
    row => of(row).vouchers,
    (count, row) => (count === 0 ? '0' : link(count, row)),
  )
}
