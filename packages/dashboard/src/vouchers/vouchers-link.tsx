import type { ComponentChildren } from 'preact'
import type { Go, View } from '../view.ts'
import { ViewLink } from '../view-link.tsx'
import { type FilterName, noFilters } from './filter.ts'

/** The id of the section with the tables. */
export const tablesId = 'tables'

interface VouchersLinkProps {
  view: View
  go: Go
  /** The filters of the list, as the address has them; null: no filters give the vouchers that the figure counts. */
  filters: Partial<Record<FilterName, string>> | null
  children: ComponentChildren
}

/** A link to the vouchers that a figure counts: it shows their list, which is below the figures. */
export const VouchersLink = ({ view, go, filters, children }: VouchersLinkProps) =>
  filters === null ? (
    children
  ) : (
    <ViewLink
      {...{ view, go }}
      change={{ voucher: null, params: { ...noFilters, table: 'vouchers', ...filters } }}
      reveals={tablesId}
    >
      {children}
    </ViewLink>
  )
