// The most important figures of a period, with their change against the compared days.
import type { ComponentChildren } from 'preact'
import { changeFrom } from '../comparison.ts'
import { formatChange, formatCount, formatDays, formatMoney, formatNumberOf, formatShare } from '../format.ts'
import { addDays, type Days, dayIn } from '../period.ts'
import { useView } from '../use-view.ts'
import { type Filters, outstandingFilters, soldFilters } from '../vouchers/filter.ts'
import { VouchersLink } from '../vouchers/vouchers-link.tsx'
import {
  type Balance,
  balanceIn,
  type ComparisonFigures,
  type Currency,
  describeVouchersWithoutBalance,
  type Figures,
  redeemedShare,
  type Sales,
  salesIn,
  sumConsents,
} from './model.ts'

interface CardsProps {
  figures: Figures
  /** The figures of `view.compared`. */
  before: ComparisonFigures | null
  currency: Currency
}

/** The most important figures. */
export function Cards({ figures, before, currency }: CardsProps) {
  const { view } = useView()
  const sold = figures.totals && salesIn(figures.totals, currency)
  const soldBefore = before?.totals ? salesIn(before.totals, currency) : null
  const outstanding = figures.outstanding && balanceIn(figures.outstanding, currency)
  const expiring = figures.expiring && balanceIn(figures.expiring, currency)
  const consents = figures.consents ? sumConsents(figures.consents) : null
  const consentsBefore = before?.consents ? sumConsents(before.consents) : null
  const money = (amount: number) => formatMoney(amount, currency)
  const today = dayIn(figures.timeZone, new Date(figures.asOf))
  const held = outstandingFilters(currency)
  const vouchersExpiring = held && { ...held, sort: 'valid-until', 'valid-to': addDays(today, 30) }
  // The figure uses the calendar day in the time zone of each tenant, but the list uses the time zone of the figures,
  // so their numbers can differ.
  const hasOtherDays = view.withDescendants || view.timeZone !== null
  return (
    <section aria-label="Figures">
      <dl class="figure-cards">
        {sold && (
          <Card
            name="Sold"
            value={money(sold.paid)}
            detail={
              <VouchersLink filters={soldFilters(null, currency)}>
                {formatNumberOf(sold.vouchers, 'voucher')}
              </VouchersLink>
            }
            note={<Change days={view.compared} now={sold.paid} before={soldBefore?.paid} format={money} />}
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
            detail={<Vouchers of={outstanding} filters={held} />}
            note="Whenever they were sold"
          />
        )}
        {expiring && (
          <Card
            name="Expiring within 30 days"
            value={money(expiring.balance)}
            detail={
              <>
                <Vouchers of={expiring} filters={vouchersExpiring} />
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
            note={
              <Change days={view.compared} now={consents.given} before={consentsBefore?.given} format={formatCount} />
            }
          />
        )}
      </dl>
    </section>
  )
}

/** The number of outstanding vouchers, and the number of these vouchers without a balance. */
const Vouchers = ({ of, filters }: { of: Balance; filters: Filters | null }) => (
  <>
    <VouchersLink filters={filters}>{formatNumberOf(of.vouchers, 'voucher')}</VouchersLink>
    {of.withoutBalance.vouchers > 0 && `, ${describeVouchersWithoutBalance(of)}`}
  </>
)

/**
 * Returns a text with the share of the sold balances that has been redeemed until now. There is no comparison with an
 * earlier period: its vouchers are older, and the records do not say when a balance changed.
 */
function describeShare(sold: Sales): string {
  const share = redeemedShare(sold)
  const words = [share !== null && `${formatShare(share)} of their balances`, describeVouchersWithoutBalance(sold)]
  return words.filter(Boolean).join('; ') || 'Nothing was sold'
}

interface CardProps {
  name: string
  value: string
  detail: ComponentChildren
  /** The text at the bottom of the card: the change against the compared days, or another note. */
  note: ComponentChildren
}

const Card = ({ name, value, detail, note }: CardProps) => (
  <div class="card figure-card">
    <dt>{name}</dt>
    <dd class="value">{value}</dd>
    <dd class="detail">{detail}</dd>
    <dd class="note">{note}</dd>
  </div>
)

interface ChangeProps {
  /** The days with which the period is compared; null for no comparison. */
  days: Days | null
  now: number
  /** The number in the days of the comparison; undefined when unknown. */
  before: number | undefined
  format: (number: number) => string
}

/** Shows the change of a number against the compared days, and the number in these days. */
function Change({ days, now, before, format }: ChangeProps) {
  if (days === null || before === undefined) return null
  const change = changeFrom(before, now)
  const compared = formatDays(days.from, days.to)
  if (change === null) return <>Compared with {compared}: none</>
  return (
    <>
      <span class={`badge ${change > 0 ? 'good' : change < 0 ? 'warn' : ''}`}>
        {change !== 0 && (
          <svg viewBox="0 0 8 8" aria-hidden="true">
            <path d={change > 0 ? 'M4 0 8 7H0Z' : 'M4 8 0 1h8Z'} />
          </svg>
        )}
        {formatChange(change)}
      </span>{' '}
      compared with {compared}: {format(before)}
    </>
  )
}
