// The controls for the period, its intervals, its comparison and the currency, and for the descendants of the tenant.
import { useState } from 'preact/hooks'
import { Choice } from './choice.tsx'
import { type Comparison, comparisons } from './comparison.ts'
import type { Currency } from './figures/model.ts'
import { formatDay, formatTime } from './format.ts'
import type { LiveState } from './live.ts'
import { findFault, type Interval, intervals, isDay, isIntervalAllowed, type Period, presets } from './period.ts'
import { FieldError } from './placeholders.tsx'
import { useView } from './use-view.ts'
import { hrefOf } from './view.ts'

interface ControlsProps {
  /** The time zone of the calendar days in the figures, an IANA name. */
  timeZone: string
  /** The currencies of the figures; null when unknown. */
  currencies: readonly Currency[] | null
  liveState: LiveState
}

/** Returns the label of a period, such as `Last 7 days`. */
const labelOf = (period: Period): string =>
  period === 'custom' ? 'From … to …' : `${period[0]?.toUpperCase()}${period.slice(1).replaceAll('-', ' ')}`

const intervalLabels: Record<Interval, string> = { DAY: 'Day', WEEK: 'Week', MONTH: 'Month' }

const comparisonLabels: Record<Comparison, string> = {
  'last-year': 'Last year',
  before: 'Period before',
  none: 'Nothing',
}

/** The controls above the figures. The query string of the page holds their values. */
export function Controls({ timeZone, currencies, liveState }: ControlsProps) {
  const { view, go } = useView()
  const { period, from, to } = view
  const currency = view.currency ?? ''
  const most = currencies?.[0] ?? null
  const offered = new Set([...(currencies ?? []), ...(view.currency === null ? [] : [view.currency])])
  const codes = [...offered].filter(code => code !== null).sort()
  return (
    <section class="card controls" aria-label="What is shown">
      <div class="filters">
        <Choice
          id="period"
          label="Period"
          value={period}
          options={[...presets, 'custom' as const].map(value => [value, labelOf(value)])}
          onChoice={chosen => go(chosen === 'custom' ? { from, to } : { period: chosen })}
        />
        <Choice
          id="interval"
          label="By"
          value={view.by}
          options={intervals.filter(by => isIntervalAllowed({ from, to }, by)).map(by => [by, intervalLabels[by]])}
          onChoice={by => go({ by })}
        />
        <Choice
          id="compare"
          label="Compare with"
          value={view.comparison}
          options={comparisons.map(name => [name, comparisonLabels[name]])}
          onChoice={comparison => go({ comparison })}
        />
        <Choice
          id="currency"
          label="Currency"
          value={currency}
          options={
            offered.size > 1
              ? [['', most === null ? 'Most sold' : `Most sold: ${most}`], ...codes.map(code => [code, code] as const)]
              : [[currency, codes[0] ?? '—']]
          }
          onChoice={value => go({ currency: value || null })}
        />
        <div class="option">
          <input
            type="checkbox"
            id="below"
            checked={view.withDescendants}
            onChange={event => go({ withDescendants: event.currentTarget.checked })}
          />
          <label for="below">With tenants below</label>
        </div>
      </div>
      {period === 'custom' && <CustomPeriod key={`${from} ${to}`} from={from} to={to} />}
      <div class="days">
        <p class="hint">
          <time datetime={from}>{formatDay(from)}</time> to <time datetime={to}>{formatDay(to)}</time>, days in{' '}
          {timeZone}
        </p>
        <LiveSwitch state={liveState} timeZone={timeZone} />
        <CopyLink />
      </div>
    </section>
  )
}

/**
 * The fields for the first and the last day of a period. A typed date is incomplete for some time, so it takes effect
 * only when the button is pressed.
 */
function CustomPeriod(shown: { from: string; to: string }) {
  const { go } = useView()
  const [days, setDays] = useState(shown)
  const [fault, setFault] = useState<string | null>(null)
  const submit = (event: SubmitEvent) => {
    event.preventDefault()
    const found = findFault(days)
    setFault(found)
    if (found === null) go(days)
  }
  const field = (name: 'from' | 'to', label: string) => (
    <div class="field">
      <label for={name}>{label}</label>
      <input
        id={name}
        type="date"
        value={days[name]}
        required
        aria-invalid={(fault !== null && (!isDay(days[name]) || days.from > days.to)) || undefined}
        aria-describedby={fault ? 'period-error' : undefined}
        onInput={event => setDays({ ...days, [name]: event.currentTarget.value })}
      />
    </div>
  )
  return (
    <form class="filters" onSubmit={submit} noValidate aria-label="Period">
      {field('from', 'From')}
      {field('to', 'To')}
      <button type="submit" class="secondary">
        Show
      </button>
      <FieldError id="period-error" text={fault} />
    </form>
  )
}

/** Returns the state of the live updates as text. */
function describeState({ kind, at = 0 }: LiveState, timeZone: string): string {
  switch (kind) {
    case 'updated':
      return `updated ${formatTime(at, timeZone)}`
    case 'next':
      return `next update ${formatTime(at, timeZone)}`
    case 'costly':
      return 'too costly to follow'
    case 'connecting':
      return 'connecting again …'
    case 'following':
      return ''
  }
}

/**
 * The switch that turns live updates of the figures on and off. The text is not an ARIA live region, because it changes
 * often.
 */
function LiveSwitch({ state, timeZone }: { state: LiveState; timeZone: string }) {
  const { view, go } = useView()
  return (
    <p class="live">
      <input
        type="checkbox"
        role="switch"
        aria-checked={view.isLive}
        id="live"
        checked={view.isLive}
        onChange={event => go({ isLive: event.currentTarget.checked }, 'replace')}
      />
      <label for="live">Live</label>
      {view.isLive && <span class="hint">{describeState(state, timeZone)}</span>}
    </p>
  )
}

/** A button that copies the URL of the view; null where the browser has no clipboard. */
function CopyLink() {
  const { view } = useView()
  const [label, setLabel] = useState('Copy link')
  if (!navigator.clipboard) return null
  const copy = async () => {
    // The copied URL names the tenant even when the URL of the page does not, because the default tenant depends on the
    // token.
    const copied = navigator.clipboard.writeText(new URL(hrefOf(view), location.href).href)
    setLabel(
      await copied.then(
        () => 'Copied',
        () => 'Not copied',
      ),
    )
    setTimeout(() => setLabel('Copy link'), 2000)
  }
  return (
    <button type="button" class="secondary small" onClick={copy}>
      {label}
    </button>
  )
}
