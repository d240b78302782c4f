// The columns of sales, which several tables share.
import { formatCount, formatMoney, formatShare, nameCurrency } from '../format.ts'
import type { Column } from '../tables/data-table.tsx'
import { type Currency, redeemedShare, type Sales } from './model.ts'

/**
 * Returns the columns of the sales in a currency.
 *
 * @param of gives the sales of a row; null when it has none that can be shown
 */
export const salesColumns = <Row>(currency: Currency, of: (row: Row) => Sales | null): Column<Row>[] => {
  const column = (
    heading: string,
    number: (sales: Sales) => number | null,
    format: (number: number) => string,
    isMoney = false,
  ): Column<Row> => {
    const value = (row: Row) => {
      const sales = of(row)
      return sales && number(sales)
    }
    return {
      heading,
      csvHeading: isMoney ? `${heading} (${nameCurrency(currency)})` : heading,
      cell: row => {
        const found = value(row)
        return found === null ? '–' : format(found)
      },
      sortBy: value,
      numeric: true,
    }
  }
  const money = (amount: number) => formatMoney(amount, currency)
  return [
    column('Vouchers', ({ vouchers }) => vouchers, formatCount),
    column('Paid', ({ paid }) => paid, money, true),
    column('Initial balance', ({ value }) => value, money, true),
    column('Redeemed', ({ redeemed }) => redeemed, money, true),
    column('Share', redeemedShare, formatShare),
    column('Without balance', ({ withoutBalance }) => withoutBalance.vouchers, formatCount),
    column('Paid for these', ({ withoutBalance }) => withoutBalance.paid, money, true),
    column('Voided', ({ voided }) => voided, formatCount),
  ]
}
