// Shows the figures of a tenant and a period as cards, plots and tables.
import { useContext, useEffect, useRef } from 'preact/hooks'
import type { SendOperation } from '../api.ts'
import { formatDays, formatInstant } from '../format.ts'
import { LiveContext } from '../live.ts'
import { DashboardFigures, DashboardProducts } from '../operations.ts'
import { Empty, Failure, Placeholder } from '../placeholders.tsx'
import { useAnswer } from '../use-answer.ts'
import { ShownView, useView, useWindowEvent } from '../use-view.ts'
import { Cards } from './cards.tsx'
import { Currencies } from './currencies.tsx'
import { LagNotice } from './lag-notice.tsx'
import { type Currency, currenciesOf } from './model.ts'
import { Plots } from './plots.tsx'
import { maxProducts, nameProducts } from './product-names.ts'
import { TableSection } from './table-section.tsx'

interface FiguresProps {
  request: SendOperation
  /** The permissions of the token. The page requests only the data that these permissions allow. */
  permissions: readonly string[]
  /**
   * Called with the currencies of the figures, the most sold first, for the controls; null when there are no figures.
   */
  onCurrencies(currencies: readonly Currency[] | null): void
}

/**
 * Loads and shows the figures of the view. While the figures of a new view load, the page shows the previous view with
 * disabled controls.
 */
export function Figures({ request, permissions, onCurrencies }: FiguresProps) {
  const { view: wanted, go } = useView()
  const period = { from: wanted.from, to: wanted.to }
  const answer = useAnswer(request, DashboardFigures, {
    tenant: wanted.tenant,
    period,
    before: wanted.compared ?? period,
    withBefore: wanted.compared !== null,
    by: wanted.by,
    timeZone: wanted.timeZone,
    withDescendants: wanted.withDescendants,
    withConsents: permissions.includes('export_customer_information'),
  })
  const last = useRef(wanted)
  if (answer.isCurrent) last.current = wanted
  const view = last.current
  const figures = answer.data?.tenant?.figures
  const currencies = figures ? currenciesOf(figures) : []
  const currency: Currency = view.currency ?? currencies[0] ?? null
  const { tenant, withDescendants, timeZone, from, to } = view
  const productsAnswer = useAnswer(
    request,
    DashboardProducts,
    figures?.totals ? { tenant, period: { from, to }, timeZone, withDescendants, currency, first: maxProducts } : null,
  )
  useEffect(() => {
    onCurrencies(figures ? currencies : null)
  }, [currencies.join(), figures === undefined])

  const live = useContext(LiveContext)
  useEffect(() => {
    if (figures) live?.onFigures(figures.asOf)
  }, [live, figures])

  // Without a connection this request fails, and the page shows the older figures with their time.
  useWindowEvent('offline', answer.reload)

  if (answer.error && !figures) return <Failure answer={answer} what="The figures" />
  if (answer.isCurrent && !figures) return <Empty text="The figures could not be read. A message above says why." />
  if (!figures || !answer.of) {
    return (
      <div class="figures" aria-busy="true">
        <p class="off-screen" role="status">
          The figures are loading.
        </p>
        <Placeholder kind="cards" />
        <div class="plot-grid">
          {[1, 2, 3, 4].map(number => (
            <Placeholder key={number} kind="plot" />
          ))}
        </div>
      </div>
    )
  }
  const topProducts = productsAnswer.data?.tenant?.figures?.topProducts
  // Without a currency, the service ranks the products of each currency.
  const products =
    topProducts && productsAnswer.isCurrent
      ? nameProducts(topProducts.filter(product => product.currency === currency))
      : null
  return (
    <ShownView.Provider value={{ view, go }}>
      <div class="figures" aria-busy={!answer.isCurrent} inert={!answer.isCurrent}>
        <Failure answer={answer} what="The figures" shownOf={formatInstant(figures.asOf, figures.timeZone)} />
        <LagNotice asOf={figures.asOf} answer={answer} />
        {/* A line below the name of the tenant, only on paper, with the values of the controls. */}
        <p class="print-heading">
          {formatDays(view.from, view.to)}
          {currency !== null && `, amounts in ${currency}`}
          {view.withDescendants ? ', with the tenants below' : ', without the tenants below'}. Figures of{' '}
          {formatInstant(figures.asOf, figures.timeZone)}; times and days are in the time zone {figures.timeZone}.
        </p>
        <Currencies {...{ figures, currency }} />
        <Cards {...{ figures, currency }} before={answer.data?.tenant?.before ?? null} />
        {/* When the figures do not exist yet, the figures of products do not exist either. */}
        {answer.error?.kind !== 'unavailable' && (
          <Failure answer={productsAnswer} what={products ? 'Newer figures of products' : 'The products'} />
        )}
        <Plots {...{ figures, currency, products }} by={answer.of.by} />
        {figures.periods && (
          <TableSection
            {...{ request, permissions, figures, currency, products }}
            currencies={currencies.filter(code => code !== null)}
            by={answer.of.by}
          />
        )}
      </div>
    </ShownView.Provider>
  )
}
