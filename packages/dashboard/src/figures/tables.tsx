// The tables below the plots, one at a time.
import { formatCount, formatDays, formatMoney, formatShare, nameCurrency } from '../format.ts'
import type { Interval } from '../period.ts'
import { WholeTable } from '../tables/whole-table.tsx'
import type { Go, View } from '../view.ts'
import { VouchersLink } from '../vouchers/vouchers-link.tsx'
import { type ConsentPeriod, type Currency, type FigurePeriod, namePeriod, salesIn } from './model.ts'
import { mostProducts, type NamedProduct } from './product-names.ts'
import { salesColumns } from './sales-columns.ts'
import { soldOf } from './shares.tsx'

/** The parts of the view that all tables need. */
export interface TableProps {
  view: View
  go: Go
  currency: Currency
}

/** Returns the name of a table's file, without its extension. */
export const fileOf = (name: string, { tenant, from, to }: View) => `${name}-${tenant}-${from}-${to}`

/** Returns a function that changes the order and the search of a table in the address. */
export const paramsIn =
  (go: Go) =>
  (params: Record<string, string>): void =>
    go({ params }, 'replace')

interface PeriodTableProps extends TableProps {
  /** Says what the amounts are. */
  note: string
  periods: readonly FigurePeriod[]
  consents: readonly ConsentPeriod[] | null
  by: Interval
}

/** The figures of each interval. */
export function PeriodTable({ view, go, currency, note, periods, consents, by }: PeriodTableProps) {
  const consentsOf = ({ from }: FigurePeriod) => consents?.find(period => period.from === from) ?? null
  return (
    <WholeTable
      label="Periods"
      note={note}
      empty="The period has no intervals."
      rows={periods}
      columns={[
        {
          heading: 'Period',
          cell: period => namePeriod(period, by),
          sortBy: ({ from }) => from,
          csvHeading: 'From',
        },
        ...salesColumns<FigurePeriod>(currency, ({ sales }) => salesIn(sales, currency)),
        ...(consents
          ? [
              {
                heading: 'Consents',
                csvHeading: 'New consents',
                cell: (period: FigurePeriod) => formatCount(consentsOf(period)?.given ?? 0),
                sortBy: (period: FigurePeriod) => consentsOf(period)?.given ?? 0,
                numeric: true,
              },
              {
                heading: 'Withdrawn',
                cell: (period: FigurePeriod) => formatCount(consentsOf(period)?.withdrawn ?? 0),
                sortBy: (period: FigurePeriod) => consentsOf(period)?.withdrawn ?? 0,
                numeric: true,
              },
            ]
          : []),
      ]}
      params={view.params}
      onParams={paramsIn(go)}
      file={fileOf('periods', view)}
    />
  )
}

/** The products that sold most in the period. */
export function ProductTable({
  view,
  go,
  currency,
  products,
  total,
}: TableProps & { products: readonly NamedProduct[]; total: number }) {
  const isCut = products.length >= mostProducts
  const what = isCut ? `The ${mostProducts} products that sold most` : 'What was sold'
  return (
    <WholeTable
      label="Products"
      note={`${what} from ${formatDays(view.from, view.to)}, in ${nameCurrency(currency)}.`}
      empty="No vouchers were sold in this period."
      rows={products}
      columns={[
        {
          heading: 'Product',
          cell: product => (
            <VouchersLink {...{ view, go }} filters={soldOf(product, view, currency)}>
              {product.name}
            </VouchersLink>
          ),
          sortBy: ({ name }) => name,
        },
        {
          heading: 'Vouchers',
          cell: ({ vouchers }) => formatCount(vouchers),
          sortBy: ({ vouchers }) => vouchers,
          numeric: true,
        },
        {
          heading: 'Paid',
          csvHeading: `Paid (${nameCurrency(currency)})`,
          cell: ({ paid }) => formatMoney(paid, currency),
          sortBy: ({ paid }) => paid,
          numeric: true,
        },
        {
          heading: 'Share of sales',
          cell: ({ paid }) => (total > 0 ? formatShare(paid / total) : '–'),
          sortBy: ({ paid }) => (total > 0 ? paid / total : null),
          numeric: true,
        },
        {
          heading: 'Id',
          cell: ({ productId }) => productId,
          sortBy: ({ productId }) => productId,
          numeric: true,
        },
      ]}
      params={view.params}
      onParams={paramsIn(go)}
      file={fileOf(isCut ? `top-${mostProducts}-products` : 'products', view)}
    />
  )
}
