// Defines the columns with sales, which several tables share.
import { formatCount, formatMoney, formatShare } from '../format.ts'
import { type Column, numberColumn } from '../tables/data-table.tsx'
import { type VouchersTarget, vouchersColumn } from '../vouchers/vouchers-link.tsx'
import { type Currency, redeemedShare, type Sales } from './model.ts'

/**
 * Returns the columns of the sales in a currency.
 *
 * @param of returns the sales of a row, or null when the row shows no sales, and the target of the link to its vouchers
 */
export const salesColumns = <Row>(
  currency: Currency,
  of: (row: Row) => VouchersTarget & { sales: Sales | null },
): Column<Row>[] => {
  const column = (heading: string, number: (sales: Sales) => number | null, format: (number: number) => string) =>
    numberColumn<Row>(
      heading,
      row => {
        const { sales } = of(row)
        return sales && number(sales)
      },
      format,
    )
  const money = (amount: number) => formatMoney(amount, currency)
  return [
    vouchersColumn(row => ({ ...of(row), vouchers: of(row).sales?.vouchers ?? null })),
    column('Paid', ({ paid }) => paid, money),
    column('Initial balance', ({ value }) => value, money),
    column('Redeemed', ({ redeemed }) => redeemed, money),
    column('Share', redeemedShare, formatShare),
    column('Without balance', ({ withoutBalance }) => withoutBalance.vouchers, formatCount),
    column('Paid for these', ({ withoutBalance }) => withoutBalance.paid, money),
    column('Voided', ({ voided }) => voided, formatCount),
  ]
}
