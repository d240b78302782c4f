// The tables below the plots. The page shows one of them at a time.
import { formatCount, formatDays, formatMoney, formatShare, nameCurrency } from '../format.ts'
import type { Days, Interval } from '../period.ts'
import { type Column, numberColumn, tableCsv } from '../tables/data-table.tsx'
import { WholeTable } from '../tables/whole-table.tsx'
import { useView } from '../use-view.ts'
import { soldFilters } from '../vouchers/filter.ts'
import { vouchersColumn } from '../vouchers/vouchers-link.tsx'
import {
  type ConsentPeriod,
  type Currency,
  describeSales,
  type FigurePeriod,
  type Figures,
  namePeriod,
  type Sales,
  salesIn,
  sumConsents,
} from './model.ts'
import { maxProducts, type NamedProduct } from './product-names.ts'
import { salesColumns } from './sales-columns.ts'
import { soldOf } from './shares.tsx'

/** One row: an interval, or the total of all intervals, whose `days` are null. */
interface PeriodRow {
  name: string
  days: Days | null
  sales: Sales
  consents: Pick<ConsentPeriod, 'given' | 'withdrawn'>
}

/** A table with one row per interval. */
export function PeriodTable({ currency, figures, by }: { currency: Currency; figures: Figures; by: Interval }) {
  const { periods, totals, consents } = figures
  const toRow = ({ sales, ...days }: FigurePeriod): PeriodRow => ({
    name: namePeriod(days, by),
    days,
    sales: salesIn(sales, currency),
    consents: consents?.find(({ from }) => from === days.from) ?? sumConsents([]),
  })
  const total: PeriodRow = {
    name: 'Total',
    days: null,
    sales: salesIn(totals ?? [], currency),
    consents: sumConsents(consents ?? []),
  }
  const columns: Column<PeriodRow>[] = [
    { heading: 'Period', cell: ({ name }) => name, sortBy: ({ days }) => days?.from ?? null, csvHeading: 'From' },
    ...salesColumns<PeriodRow>(currency, ({ sales, days }) => ({ sales, filters: soldFilters(days, currency) })),
    ...(consents
      ? [
          numberColumn<PeriodRow>('Consents', row => row.consents.given, formatCount),
          numberColumn<PeriodRow>('Withdrawn', row => row.consents.withdrawn, formatCount),
        ]
      : []),
  ]
  return (
    <WholeTable
      label="Periods"
      empty="The period has no intervals."
      note={describeSales(figures, currency)}
      columns={columns}
      rows={(periods ?? []).map(toRow)}
      foot={total}
      toCsv={shown => tableCsv({ columns, rows: shown, currency })}
      file="periods"
    />
  )
}

/** One row: a product, or the total of all products, which has no id. */
type ProductRow = Pick<NamedProduct, 'name' | 'vouchers' | 'paid'> & { productId: number | null }

interface ProductTableProps {
  currency: Currency
  products: readonly NamedProduct[]
  total: Sales
}

/** A table of the products that sold most in the period. */
export function ProductTable({ currency, products, total }: ProductTableProps) {
  const { view } = useView()
  const money = (amount: number) => formatMoney(amount, currency)
  const isCut = products.length >= maxProducts
  const what = isCut ? `The ${maxProducts} products that sold most` : 'What was sold'
  const columns: Column<ProductRow>[] = [
    { heading: 'Product', cell: ({ name }) => name, sortBy: ({ name }) => name },
    vouchersColumn(product => ({ ...product, filters: soldOf(product, currency) })),
    numberColumn('Paid', ({ paid }) => paid, money),
    numberColumn('Share of sales', ({ paid }) => (total.paid > 0 ? paid / total.paid : null), formatShare),
    numberColumn<ProductRow>('Id', ({ productId }) => productId, String),
  ]
  return (
    <WholeTable
      label="Products"
      note={`${what} from ${formatDays(view.from, view.to)}, in ${nameCurrency(currency)}.`}
      empty="No vouchers were sold in this period."
      rows={products}
      columns={columns}
      foot={{ ...total, name: isCut ? 'Total of all products' : 'Total', productId: null }}
      toCsv={shown => tableCsv({ columns, rows: shown, currency })}
      file={isCut ? `top-${maxProducts}-products` : 'products'}
    />
  )
}
