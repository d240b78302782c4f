import { formatDays, formatInstant } from '../format.ts'
import type { View } from '../view.ts'
import type { Currency, Figures } from './model.ts'

interface PrintHeadingProps {
  view: View
  figures: Figures
  currency: Currency
}

/** Prints the choices of the controls below the name of the tenant. */
export const PrintHeading = ({ view, figures: { asOf, timeZone }, currency }: PrintHeadingProps) => (
  <p class="print-heading">
    {formatDays(view.from, view.to)}
    {currency !== null && `, amounts in ${currency}`}
    {view.withDescendants ? ', with the tenants below' : ', without the tenants below'}. Figures of{' '}
    {formatInstant(asOf, timeZone)}; times and days are in the time zone {timeZone}.
  </p>
)
