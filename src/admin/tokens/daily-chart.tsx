import { type AxisLabel, BarPlot, Legend, type Series, sum, ticksFor } from '#charts'
import type { RequestCount } from '../../domain/token/request-count.ts'
import { formatCount, formatDay, formatShortDay } from '../components/format.tsx'
import { type Column, Table } from '../components/table.tsx'

export interface DailyCounts {
  /** All days of the chart, as `YYYY-MM-DD` in UTC, the oldest first. */
  days: string[]
  counts: RequestCount[]
}

interface DailyChartProps extends DailyCounts {
  id: string
  title: string
  series: Series[]
  /** Returns the label of the series that counts the request. */
  labelOf: (count: RequestCount) => string
  /** True to leave the series without requests on a day out of the text of this day. */
  omitsZeros?: boolean
}

// The width of a day, in units of the SVG. On a narrow screen a unit is a pixel, and the oldest days are cut off
// (admin.css).
const dayWidth = 9
const barWidth = 7
const plotHeight = 150
const axisWidth = 48

const compact = new Intl.NumberFormat('en', { notation: 'compact' })

const isMonday = (day: string) => new Date(day).getUTCDay() === 1

/**
 * A chart with a stacked bar for each day, a legend, the sums in words for screen readers, and a table of the same
 * numbers.
 */
export function DailyChart({ id, title, series, labelOf, omitsZeros = false, days, counts }: DailyChartProps) {
  const describe = (values: readonly number[], withZeros: boolean) =>
    series
      .map(({ label }, index) => ({ label, count: values[index] ?? 0 }))
      .filter(({ count }) => withZeros || count > 0)
      .map(({ label, count }) => `${formatCount(count)} ${label}`)
      .join(', ')
  const bars = days.map(day => {
    const ofDay = counts.filter(count => count.day === day)
    const values = series.map(({ label }) =>
      sum(ofDay.filter(count => labelOf(count) === label).map(({ requests }) => requests)),
    )
    return { day, values, description: `${formatDay(day)}: ${describe(values, !omitsZeros)}` }
  })
  const totals = series.map((_, index) => sum(bars.map(({ values }) => values[index] ?? 0)))
  const busiest = bars.reduce((most, bar) => (sum(bar.values) > sum(most.values) ? bar : most))
  const summary = `In ${days.length} days: ${describe(totals, true)}. Most on ${busiest.description}.`
  const labels: AxisLabel[] = days.flatMap((day, index) =>
    isMonday(day) ? [{ index, text: formatShortDay(day) }] : [],
  )
  const columns: Column<(typeof bars)[number]>[] = [
    { heading: 'Day', cell: ({ day }) => formatDay(day) },
    ...series.map(({ label }, index) => ({
      heading: label,
      cell: ({ values }: { values: number[] }) => formatCount(values[index] ?? 0),
      numeric: true,
    })),
  ]
  return (
    <figure class="chart">
      <h3>{title}</h3>
      <Legend id={id} series={series} />
      <BarPlot
        {...{ id, series, bars, step: dayWidth, barWidth, plotHeight, axisWidth, labels }}
        label={`${title}. ${summary}`}
        ticks={ticksFor(sum(busiest.values))}
        formatTick={tick => compact.format(tick)}
        preserveAspectRatio="xMaxYMid slice"
      />
      <p class="hint latest">The latest days, as many as your screen has room for. The table has all days.</p>
      <details>
        <summary>The numbers as a table</summary>
        <Table
          label={`${title}, as a table`}
          caption={`${title} (UTC), newest first. Days without requests are left out.`}
          class="numbers"
          columns={columns}
          rows={bars.filter(({ values }) => sum(values) > 0).reverse()}
        />
      </details>
    </figure>
  )
}
