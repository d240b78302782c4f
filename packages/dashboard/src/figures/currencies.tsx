// Shows all currencies of a view.
import { formatDays, formatMoney, formatNumberOf } from '../format.ts'
import type { Go, View } from '../view.ts'
import { ViewLink } from '../view-link.tsx'
import { balanceIn, type Currency, currenciesOf, type Figures, salesIn } from './model.ts'

interface CurrenciesProps {
  view: View
  go: Go
  figures: Figures
  /** The currency that the figures show. */
  currency: Currency
}

/** The amounts in each currency when the view has several, and sentences about missing data. */
export function Currencies({ view, go, figures, currency }: CurrenciesProps) {
  const currencies = currenciesOf(figures)
  const lack = describeLack(view, figures, currencies)
  return (
    <>
      {lack && (
        <p class="warning" role="status">
          {lack}
        </p>
      )}
      {currencies.some(code => code !== currency) && (
        <nav class="currencies" aria-label="Currencies">
          <ul class="notices">
            {currencies.map(code => (
              <li key={code}>
                {code === null ? (
                  'No currency'
                ) : (
                  <ViewLink {...{ view, go }} change={{ currency: code }} current={code === currency}>
                    {code}
                  </ViewLink>
                )}
                : {describeAmounts(figures, code)}
              </li>
            ))}
          </ul>
        </nav>
      )}
    </>
  )
}

function describeAmounts({ totals, outstanding }: Figures, currency: Currency): string {
  const [sold, held] = [salesIn(totals ?? [], currency), balanceIn(outstanding ?? [], currency)]
  const words = (amount: number, vouchers: number) =>
    `${formatMoney(amount, currency)} from ${formatNumberOf(vouchers, 'voucher')}`
  return `${words(sold.paid, sold.vouchers)} sold, ${words(held.balance, held.vouchers)} outstanding`
}

/** Says why a view shows zeros; null when it does not. */
function describeLack(
  view: View,
  { totals, outstanding, status }: Figures,
  currencies: readonly Currency[],
): string | null {
  if (!totals || !outstanding || !status) return null
  if (status.every(({ vouchers }) => vouchers === 0)) return 'Nothing to count: this tenant has no vouchers.'
  const days = formatDays(view.from, view.to)
  if (view.currency !== null && !currencies.includes(view.currency)) {
    return `Nothing in ${view.currency}: no vouchers were sold in it in ${days}, and none are outstanding.`
  }
  return totals.length === 0 ? `Nothing was sold in ${days}.` : null
}
