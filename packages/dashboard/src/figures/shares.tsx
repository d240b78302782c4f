// Shows the shares of vouchers by status, and the products that sold most.
import { formatCount, formatMoney, formatNumberOf, formatShare } from '../format.ts'
import { NothingToPlot } from '../placeholders.tsx'
import { ShareList } from '../plots/share-list.tsx'
import { type Filters, soldFilters } from '../vouchers/filter.ts'
import { VouchersLink } from '../vouchers/vouchers-link.tsx'
import { type Currency, describeRemaining, type Figures } from './model.ts'
import type { NamedProduct } from './product-names.ts'
import { nameStatus, statuses } from './status-words.ts'

/** Shows the vouchers of all periods and currencies by their current status. */
export function StatusShares({ figures }: { figures: NonNullable<Figures['status']> }) {
  const title = 'Vouchers by status'
  const total = figures.reduce((all, { vouchers }) => all + vouchers, 0)
  if (total === 0) return <NothingToPlot title={title} text="There are no vouchers yet." />
  const shares = statuses.map(status => ({
    status,
    ...(figures.find(figure => figure.status === status) ?? { vouchers: 0, share: 0, remaining: [] }),
  }))
  return (
    <ShareList
      id="status"
      title={title}
      summary={`${formatNumberOf(total, 'voucher')} in all currencies, whenever they were sold.`}
      headings={['Status', 'Vouchers', 'Share']}
      shares={shares.map(({ status, vouchers, share, remaining }) => ({
        name: (
          <>
            <VouchersLink filters={{ status }}>{nameStatus(status)}</VouchersLink>
            {status === 'EXPIRED' && vouchers > 0 && <span class="muted"> {describeRemaining(remaining)}</span>}
          </>
        ),
        numbers: [formatCount(vouchers), formatShare(share)],
        length: share,
      }))}
    />
  )
}

/**
 * Returns the filters that select the vouchers sold in the period and the currency of the view, of one product, or of
 * all products (null).
 */
export const soldOf = ({ productId }: { productId: number | null }, currency: Currency): Filters | null => {
  const sold = soldFilters(null, currency)
  return sold && { ...sold, ...(productId !== null && { product: String(productId) }) }
}

/** Shows the products with the largest amounts paid. */
export function TopProducts({ products, currency }: { products: readonly NamedProduct[]; currency: Currency }) {
  const title = 'Top products'
  const shown = products.slice(0, 8)
  const [first] = shown
  if (!first) return <NothingToPlot title={title} text="No vouchers were sold in this period." />
  return (
    <ShareList
      id="products"
      title={title}
      summary={`${first.name} sold most: ${formatMoney(first.paid, currency)}.`}
      headings={['Product', 'Vouchers', 'Paid']}
      shares={shown.map(product => ({
        name: <VouchersLink filters={soldOf(product, currency)}>{product.name}</VouchersLink>,
        numbers: [formatCount(product.vouchers), formatMoney(product.paid, currency)],
        length: first.paid > 0 ? product.paid / first.paid : 0,
      }))}
    />
  )
}
