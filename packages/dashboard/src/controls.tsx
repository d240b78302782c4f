// Chooses the period, its intervals, its comparison, the currency, and whether the tenants below are included.
import { useState } from 'preact/hooks'
import { type Comparison, comparisons } from './comparison.ts'
import { CopyLink } from './copy-link.tsx'
import type { Currency } from './figures/model.ts'
import { formatDay } from './format.ts'
import type { LiveState } from './live.ts'
import { LiveSwitch } from './live-switch.tsx'
import { findFault, type Interval, intervals, isDay, isIntervalAllowed, type Period, presets } from './period.ts'
import { useView } from './use-view.ts'

interface ControlsProps {
  /** The time zone of the days. */
  timeZone: string
  /** The currencies of the figures; null when unknown. */
  currencies: readonly Currency[] | null
  liveState: LiveState
}

/** Returns the label of a period: its name in words. */
const labelOf = (period: Period): string =>
  period === 'custom' ? 'From … to …' : `${period[0]?.toUpperCase()}${period.slice(1).replaceAll('-', ' ')}`

const intervalLabels: Record<Interval, string> = { DAY: 'Day', WEEK: 'Week', MONTH: 'Month' }

const comparisonLabels: Record<Comparison, string> = {
  'last-year': 'Last year',
  before: 'Period before',
  none: 'Nothing',
}

/** The controls above the figures. The address holds their values. */
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

interface ChoiceProps<Value extends string> {
  id: string
  label: string
  value: Value
  options: readonly (readonly [value: Value, label: string])[]
  onChoice(value: Value): void
}

const Choice = <Value extends string>({ id, label, value, options, onChoice }: ChoiceProps<Value>) => (
  <div class="field">
    <label for={id}>{label}</label>
    <select
      id={id}
      value={value}
      onChange={({ currentTarget }) => onChoice(options[currentTarget.selectedIndex]?.[0] ?? value)}
    >
      {options.map(([option, text]) => (
        <option key={option} value={option} selected={option === value}>
          {text}
        </option>
      ))}
    </select>
  </div>
)

/** The first and the last day. A date is typed in parts, so it has no effect until the button is pressed. */
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
      {fault && (
        <p class="field-error" id="period-error" role="alert">
          {fault}
        </p>
      )}
    </form>
  )
}
