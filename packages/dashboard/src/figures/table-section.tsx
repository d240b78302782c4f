import type { SendOperation } from '../api.ts'
import { formatInstant } from '../format.ts'
import type { Interval } from '../period.ts'
import { Placeholder } from '../placeholders.tsx'
import { useView } from '../use-view.ts'
import { ViewLink } from '../view-link.tsx'
import { noFilters, soldFilters } from '../vouchers/filter.ts'
import { VoucherList } from '../vouchers/voucher-list.tsx'
import { tablesId } from '../vouchers/vouchers-link.tsx'
import { type Currency, type Figures, salesIn } from './model.ts'
import type { NamedProduct } from './product-names.ts'
import { PeriodTable, ProductTable } from './tables.tsx'
import { TenantTable } from './tenant-table.tsx'

const tableTitles = { periods: 'Periods', products: 'Products', tenants: 'Tenants', vouchers: 'Vouchers' } as const

type TableName = keyof typeof tableTitles

const isTable = (name = ''): name is TableName => Object.hasOwn(tableTitles, name)

interface TableSectionProps {
  request: SendOperation
  permissions: readonly string[]
  figures: Figures
  by: Interval
  currency: Currency
  currencies: readonly string[]
  /** Null while the products are loading. */
  products: readonly NamedProduct[] | null
}

/** Shows one of the tables, and links to the other tables. */
export function TableSection(props: TableSectionProps) {
  const { request, permissions, figures, by, currency, currencies, products } = props
  const { view } = useView()
  const shown = isTable(view.params.table) ? view.params.table : 'periods'
  const { asOf, timeZone, periods } = figures
  return (
    <section class="card tables" id={tablesId} tabIndex={-1} aria-label="Tables">
      <nav class="tabs" aria-label="Tables">
        {Object.entries(tableTitles).map(([name, label]) => (
          <ViewLink
            key={name}
            change={{ params: { ...noFilters, table: name, ...(name === 'vouchers' && soldFilters(null, currency)) } }}
            current={name === shown}
          >
            {label}
          </ViewLink>
        ))}
      </nav>
      {shown === 'periods' && periods && <PeriodTable {...{ currency, figures, by }} />}
      {shown === 'products' &&
        (products ? (
          <ProductTable {...{ currency, products }} total={salesIn(figures.totals ?? [], currency)} />
        ) : (
          <Placeholder kind="table" />
        ))}
      {shown === 'tenants' && (
        <TenantTable
          // The key removes the old rows, because rows of another tenant or period must not stay below the new heading.
          key={[view.tenant, view.from, view.to, view.timeZone, view.withDescendants].join(' ')}
          {...{ currency, request, figures }}
        />
      )}
      {shown === 'vouchers' && (
        <VoucherList
          key={view.tenant}
          {...{ request, permissions, timeZone, currency, currencies }}
          products={(products ?? []).map(({ productId, name }) => ({ id: String(productId), name }))}
        />
      )}
      <p class="as-of">
        Figures of {formatInstant(asOf, timeZone)}. Days are in the time zone {timeZone}.
      </p>
    </section>
  )
}
