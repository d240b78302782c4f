// Shows the amounts of a view in all its currencies.
import { formatDays, formatMoney, formatNumberOf } from '../format.ts'
import { useView } from '../use-view.ts'
import type { View } from '../view.ts'
import { ViewLink } from '../view-link.tsx'
import { outstandingFilters, soldFilters } from '../vouchers/filter.ts'
import { VouchersLink } from '../vouchers/vouchers-link.tsx'
import { balanceIn, type Currency, currenciesOf, type Figures, salesIn } from './model.ts'

/**
 * Shows the amounts in each currency when the view has several currencies, and sentences about missing data.
 *
 * @param props.currency the currency that the figures show
 */
export function Currencies({ figures, currency }: { figures: Figures; currency: Currency }) {
  const { view } = useView()
  const currencies = currenciesOf(figures)
  const lack = describeMissingSales(view, figures, currencies)
  const shown = currencies
    .map(code => ({ code, parts: partsOf(figures, code) }))
    .filter(({ parts }) => parts.length > 0)
  return (
    <>
      {lack && (
        <p class="warning" role="status">
          {lack}
        </p>
      )}
      {shown.some(({ code }) => code !== currency) && (
        <nav class="currencies" aria-label="Currencies">
          <ul class="notices">
            {shown.map(({ code, parts }) => (
              <li key={code}>
                {code === null ? (
                  'No currency'
                ) : (
                  <ViewLink change={{ currency: code }} current={code === currency}>
                    {code}
                  </ViewLink>
                )}
                :{' '}
                {parts.map(({ name, amount, vouchers, filters }, index) => (
                  <>
                    {index > 0 && ', '}
                    {(code !== null || amount !== 0) && `${formatMoney(amount, code)} from `}
                    <VouchersLink {...{ filters }} change={{ currency: code }}>
                      {formatNumberOf(vouchers, 'voucher')}
                    </VouchersLink>{' '}
                    {name}
                  </>
                ))}
              </li>
            ))}
          </ul>
        </nav>
      )}
    </>
  )
}

/** Returns texts with the sales and the outstanding balance in a currency. Leaves out an amount of zero vouchers. */
function partsOf({ totals, outstanding }: Figures, currency: Currency) {
  const [sold, held] = [salesIn(totals ?? [], currency), balanceIn(outstanding ?? [], currency)]
  return [
    { name: 'sold', amount: sold.paid, vouchers: sold.vouchers, filters: soldFilters(null, currency) },
    { name: 'outstanding', amount: held.balance, vouchers: held.vouchers, filters: outstandingFilters(currency) },
  ].filter(({ vouchers }) => vouchers > 0)
}

/** Returns a sentence with the reason why the view shows zeros; null when it shows other numbers. */
function describeMissingSales(
  view: View,
  { totals, outstanding, status }: Figures,
  currencies: readonly Currency[],
): string | null {
  if (!totals || !outstanding || !status) return null
  if (status.every(({ vouchers }) => vouchers === 0)) return 'Nothing to count: this tenant has no vouchers.'
  const days = `${view.from === view.to ? 'on' : 'in'} ${formatDays(view.from, view.to)}`
  if (view.currency !== null && !currencies.includes(view.currency)) {
    return `Nothing in ${view.currency}: no vouchers were sold in it ${days}, and none are outstanding.`
  }
  return totals.length === 0 ? `Nothing was sold ${days}.` : null
}
