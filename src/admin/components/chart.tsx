import { type AxisLabel, type Bar, BarPlot, Legend, type Series, sum, ticksFor } from '#charts'
import { formatCount, formatDay, formatShortDay } from './format.tsx'
import { type Column, Table } from './table.tsx'

export interface DayBar extends Bar {
  /** `YYYY-MM-DD`, UTC. */
  day: string
  description: string
}

interface ChartProps {
  /** Unique on the page. */
  id: string
  title: string
  /** The chart in words, for screen readers. */
  summary: string
  series: Series[]
  /** All days, oldest first. */
  bars: DayBar[]
}

// In units of the SVG; on a narrow screen a unit is a pixel, and the oldest days are cut off (admin.css).
const dayWidth = 9
const barWidth = 7
const plotHeight = 150
const axisWidth = 48

const compact = new Intl.NumberFormat('en', { notation: 'compact' })

const isMonday = (day: string) => new Date(day).getUTCDay() === 1

/** A stacked bar for each day, with a legend and the same numbers as a table. */
export function Chart({ id, title, summary, series, bars }: ChartProps) {
  const labels: AxisLabel[] = bars.flatMap(({ day }, index) =>
    isMonday(day) ? [{ index, text: formatShortDay(day) }] : [],
  )
  return (
    <figure class="chart">
      <h3>{title}</h3>
      <Legend id={id} series={series} />
      <BarPlot
        {...{ id, series, bars, step: dayWidth, barWidth, plotHeight, axisWidth, labels }}
        label={`${title}. ${summary}`}
        ticks={ticksFor(Math.max(...bars.map(({ values }) => sum(values))))}
        formatTick={tick => compact.format(tick)}
        preserveAspectRatio="xMaxYMid slice"
      />
      <p class="hint latest">The latest days, as many as your screen has room for. The table has all days.</p>
      <NumbersTable title={title} series={series} bars={bars} />
    </figure>
  )
}

function NumbersTable({ title, series, bars }: Pick<ChartProps, 'title' | 'series' | 'bars'>) {
  const columns: Column<DayBar>[] = [
    { heading: 'Day', cell: ({ day }) => formatDay(day) },
    ...series.map(({ label }, index) => ({
      heading: label,
      cell: ({ values }: DayBar) => formatCount(values[index] ?? 0),
      numeric: true,
    })),
  ]
  return (
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
  )
}
