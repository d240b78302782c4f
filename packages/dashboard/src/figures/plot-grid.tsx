import { dayIn, type Interval } from '../period.ts'
import { Placeholder } from '../placeholders.tsx'
import { ConsentPlot } from './consent-plot.tsx'
import { ExpiryPlot } from './expiry-plot.tsx'
import { type Currency, type Figures, salesIn } from './model.ts'
import { RedeemedPlot, SalesPlot } from './plots.tsx'
import type { NamedProduct } from './product-names.ts'
import { StatusShares, TopProducts } from './shares.tsx'

interface PlotsProps {
  figures: Figures
  by: Interval
  currency: Currency
  /** Null while the products are loading. */
  products: readonly NamedProduct[] | null
}

/** The plots of a view; plots that the token may not read are left out. */
export function Plots({ figures, by, currency, products }: PlotsProps) {
  const { periods, totals, outstanding, status, consents, asOf, timeZone } = figures
  return (
    <section class="plot-grid" aria-label="Plots">
      {periods && totals && (
        <>
          <SalesPlot {...{ periods, by, currency }} total={salesIn(totals, currency)} />
          <RedeemedPlot {...{ periods, by, currency }} total={salesIn(totals, currency)} />
        </>
      )}
      {outstanding && (
        <ExpiryPlot
          outstanding={outstanding.find(figure => figure.currency === currency)}
          currency={currency}
          today={dayIn(timeZone, new Date(asOf))}
        />
      )}
      {status && <StatusShares figures={status} />}
      {products ? <TopProducts {...{ products, currency }} /> : totals && <Placeholder kind="plot" />}
      {consents && <ConsentPlot {...{ by }} periods={consents} />}
    </section>
  )
}
