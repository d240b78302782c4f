import { formatCount, formatDay, formatShortDay } from './format.ts'
import { type Column, Table } from './table.tsx'

/** A series of a chart: the same in all bars. */
export interface Series {
  /** The label in the legend, and the heading of its column. */
  label: string
  /** The class of its color in admin.css. */
  color: string
  /** Distinguishes it from the series with the same color. */
  hatched?: boolean
}

/** The bar of one day. */
export interface Bar {
  /** `YYYY-MM-DD`, UTC. */
  day: string
  /** One value for each series, in their order. */
  values: number[]
  /** The values in words. */
  description: string
}

interface ChartProps {
  title: string
  /** The chart in words, for screen readers. */
  summary: string
  series: Series[]
  /** All days, oldest first. */
  bars: Bar[]
}

// In units of the SVG; on a narrow screen a unit is a pixel, and the oldest days are cut off (admin.css).
const dayWidth = 9
const barWidth = 7
const plotHeight = 150
const top = 12
const height = top + plotHeight + 24
const axisWidth = 48

/** @returns the sum of the numbers */
export const sum = (numbers: number[]): number => numbers.reduce((total, number) => total + number, 0)

/** @returns ticks of 1, 2 or 5 times a power of ten, from 0 to the first that is not below `most` */
function ticksFor(most: number): number[] {
  const rough = Math.max(most, 1) / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, power * ([1, 2, 5].find(factor => factor * power >= rough) ?? 10))
  return Array.from({ length: Math.ceil(Math.max(most, 1) / step) + 1 }, (_, index) => index * step)
}

const compact = new Intl.NumberFormat('en', { notation: 'compact' })

const isMonday = (day: string) => new Date(day).getUTCDay() === 1

/** A stacked bar for each day, with a legend and the same numbers as a table. */
export function Chart({ title, summary, series, bars }: ChartProps) {
  const ticks = ticksFor(Math.max(...bars.map(({ values }) => sum(values))))
  const scale = plotHeight / (ticks.at(-1) ?? 1)
  const plotWidth = bars.length * dayWidth
  const y = (value: number) => top + plotHeight - value * scale
  return (
    <figure class="chart">
      <h3>{title}</h3>
      <ul class="legend">
        {series.map(({ label, color, hatched }) => (
          <li key={label}>
            <span class={`key series ${color}${hatched ? ' hatched' : ''}`} />
            {label}
          </li>
        ))}
      </ul>
      <svg
        class="plot"
        viewBox={`0 0 ${plotWidth + axisWidth} ${height}`}
        preserveAspectRatio="xMaxYMid slice"
        role="img"
        aria-label={`${title}. ${summary}`}
      >
        <defs>
          <pattern id="hatch" width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect class="hatch" width="1.6" height="4" />
          </pattern>
        </defs>
        {ticks.map(tick => (
          <g key={tick}>
            <line class={tick === 0 ? 'base' : 'grid'} x1="0" x2={plotWidth} y1={y(tick)} y2={y(tick)} />
            <text x={plotWidth + 8} y={y(tick) + 4}>
              {compact.format(tick)}
            </text>
          </g>
        ))}
        {bars.map((bar, index) => (
          <BarShape key={bar.day} bar={bar} series={series} x={index * dayWidth + (dayWidth - barWidth) / 2} y={y} />
        ))}
        {bars.map(
          ({ day }, index) =>
            isMonday(day) && (
              <g key={day}>
                <line class="base" x1={index * dayWidth} x2={index * dayWidth} y1={y(0)} y2={y(0) + 5} />
                <text x={index * dayWidth + 3} y={y(0) + 17}>
                  {formatShortDay(day)}
                </text>
              </g>
            ),
        )}
      </svg>
      <p class="hint latest">The latest days, as many as your screen has room for. The table has all days.</p>
      <NumbersTable title={title} series={series} bars={bars} />
    </figure>
  )
}

function BarShape({ bar, series, x, y }: { bar: Bar; series: Series[]; x: number; y: (value: number) => number }) {
  if (sum(bar.values) === 0) return null
  let below = 0
  const parts = series.map(({ label, color, hatched }, index) => {
    const part = { label, color, hatched, from: below, to: below + (bar.values[index] ?? 0) }
    below = part.to
    return part
  })
  return (
    <g>
      <title>{bar.description}</title>
      <rect class="hover" x={x - (dayWidth - barWidth) / 2} width={dayWidth} y={top} height={plotHeight} />
      {parts
        .filter(({ from, to }) => to > from)
        .map(({ label, color, hatched, from, to }) => {
          const box = { x, width: barWidth, y: y(to), height: y(from) - y(to) }
          return (
            <g key={label}>
              <rect class={`series ${color}`} {...box} />
              {hatched && <rect fill="url(#hatch)" {...box} />}
            </g>
          )
        })}
    </g>
  )
}

function NumbersTable({ title, series, bars }: Pick<ChartProps, 'title' | 'series' | 'bars'>) {
  const columns: Column<Bar>[] = [
    { heading: 'Day', cell: ({ day }) => formatDay(day) },
    ...series.map(({ label }, index) => ({
      heading: label,
      cell: ({ values }: Bar) => formatCount(values[index] ?? 0),
      numeric: true,
    })),
  ]
  return (
    <details>
      <summary>The numbers as a table</summary>
      <Table
        label={`${title}, as a table`}
        caption={`${title} (UTC), newest first. Days without requests are left out.`}
        columns={columns}
        rows={bars.filter(({ values }) => sum(values) > 0).reverse()}
        rowKey={({ day }) => day}
      />
    </details>
  )
}
