// The figures of a period at a glance, with their change against the period before.
import type { ComponentChildren } from 'preact'
import { sum } from '../../../charts/src/index.ts'
import { changeFrom } from '../comparison.ts'
import { formatChange, formatCount, formatDays, formatMoney, formatNumberOf, formatShare } from '../format.ts'
import { addDays, type Days, dayIn } from '../period.ts'
import type { Go, View } from '../view.ts'
import { VouchersLink } from '../vouchers/vouchers-link.tsx'
import {
  balanceIn,
  type ConsentPeriod,
  type Currency,
  describeWithout,
  type Figures,
  type FiguresBefore,
  redeemedShare,
  type Sales,
  salesIn,
} from './model.ts'

interface CardsProps {
  view: View
  go: Go
  figures: Figures
  before: FiguresBefore | null
  /** The days of `before`. */
  compared: Days
  currency: Currency
}

/** The most important figures. */
export function Cards({ view, go, figures, before, compared, currency }: CardsProps) {
  const sold = figures.totals && salesIn(figures.totals, currency)
  const soldBefore = before?.totals ? salesIn(before.totals, currency) : null
  const outstanding = figures.outstanding && balanceIn(figures.outstanding, currency)
  const expiring = figures.expiring && balanceIn(figures.expiring, currency)
  const consents = figures.consents ? countConsents(figures.consents) : null
  const consentsBefore = before?.consents ? countConsents(before.consents) : null
  const money = (amount: number) => formatMoney(amount, currency)
  const today = dayIn(figures.timeZone, new Date(figures.asOf))
  // The status leaves out vouchers that have expired on the day at their tenant. No filter finds vouchers without a
  // currency.
  const status = 'REDEEMABLE,PART_REDEEMED,NOT_YET_VALID'
  const vouchersExpiring =
    currency === null ? null : { status, sort: 'valid-until', in: currency, 'valid-to': addDays(today, 30) }
  // The figure uses the day at each tenant, the list the day of the figures.
  const hasOtherDays = view.withDescendants || view.timeZone !== null
  return (
    <section aria-label="Figures">
      <p class="compared">
        Changes are against <strong>{formatDays(compared.from, compared.to)}</strong>.
        {view.to > today && ' The period is not over yet.'}
      </p>
      <dl class="figure-cards">
        {sold && (
          <Card
            name="Sold"
            value={money(sold.paid)}
            detail={formatNumberOf(sold.vouchers, 'voucher')}
            change={soldBefore && { now: sold.paid, before: soldBefore.paid, words: money(soldBefore.paid) }}
          />
        )}
        {sold && (
          <Card
            name="Redeemed of these"
            value={money(sold.redeemed)}
            detail={describeShare(sold)}
            note="Not compared: earlier sales had longer to be redeemed"
          />
        )}
        {outstanding && (
          <Card
            name="Outstanding now"
            value={money(outstanding.balance)}
            detail={[formatNumberOf(outstanding.vouchers, 'voucher'), describeWithout(outstanding)]
              .filter(Boolean)
              .join(', ')}
            note="Whenever they were sold"
          />
        )}
        {expiring && (
          <Card
            name="Expiring within 30 days"
            value={money(expiring.balance)}
            detail={
              <>
                <VouchersLink {...{ view, go }} filters={vouchersExpiring}>
                  {formatNumberOf(expiring.vouchers, 'voucher')}
                </VouchersLink>
                {expiring.withoutBalance.vouchers > 0 && `, ${describeWithout(expiring)}`}
                {hasOtherDays && ', each by the day at its tenant'}
              </>
            }
            note={
              outstanding && outstanding.balance > 0
                ? `${formatShare(expiring.balance / outstanding.balance)} of the outstanding balance`
                : ''
            }
          />
        )}
        {consents && (
          <Card
            name="New consents"
            value={formatCount(consents.given)}
            detail={`${formatCount(consents.withdrawn)} withdrawn`}
            change={
              consentsBefore && {
                now: consents.given,
                before: consentsBefore.given,
                words: formatCount(consentsBefore.given),
              }
            }
          />
        )}
      </dl>
    </section>
  )
}

/** Returns the consents of all intervals. */
const countConsents = (periods: readonly Pick<ConsentPeriod, 'given' | 'withdrawn'>[]) => ({
  given: sum(periods.map(({ given }) => given)),
  withdrawn: sum(periods.map(({ withdrawn }) => withdrawn)),
})

/**
 * Says which share of the balances sold has been redeemed by now. The period before is not compared: no record says when a
 * balance changed, so the share at the same age is unknown.
 */
function describeShare(sold: Sales): string {
  const share = redeemedShare(sold)
  const words = [share !== null && `${formatShare(share)} of their balances`, describeWithout(sold)]
  return words.filter(Boolean).join('; ') || 'Nothing was sold'
}

interface CardProps {
  name: string
  value: string
  detail: ComponentChildren
  /** The current and the earlier number, and the text for the earlier one. */
  change?: { now: number; before: number; words: string } | null
  /** The text that replaces the change. */
  note?: string
}

const Card = ({ name, value, detail, change, note }: CardProps) => (
  <div class="card figure-card">
    <dt>{name}</dt>
    <dd class="value">{value}</dd>
    <dd class="detail">{detail}</dd>
    {change ? <Change {...change} /> : <dd class="change">{note}</dd>}
  </div>
)

function Change({ now, before, words }: NonNullable<CardProps['change']>) {
  const change = changeFrom(before, now)
  if (change === null) return <dd class="change">{now === 0 ? 'None before either' : 'None before'}</dd>
  return (
    <dd class="change">
      <span class={`badge ${change > 0 ? 'good' : change < 0 ? 'warn' : ''}`}>
        {change !== 0 && (
          <svg viewBox="0 0 8 8" aria-hidden="true">
            <path d={change > 0 ? 'M4 0 8 7H0Z' : 'M4 8 0 1h8Z'} />
          </svg>
        )}
        {formatChange(change)}
      </span>{' '}
      {words} before
    </dd>
  )
}
