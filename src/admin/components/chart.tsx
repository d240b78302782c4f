import { count } from './count.ts'
import { dayText, shortDayText } from './day.ts'
import { Scroll } from './scroll-region.tsx'

/** One kind of thing that is counted, the same in all bars. */
export interface Series {
  /** For people; in the legend, and heads a column. */
  label: string
  /** The class in admin.css that colours it. */
  look: string
  /** Tells it from the series that shares its colour. */
  hatched?: boolean
}

/** One day's bar. */
export interface Day {
  /** `YYYY-MM-DD`, UTC. */
  day: string
  /** Of each series, in their order. */
  counts: number[]
  /** The same in words. */
  said: string
}

interface ChartProps {
  title: string
  /** What the plot comes to, for who cannot see it. */
  summary: string
  series: Series[]
  /** Oldest first, none left out. */
  days: Day[]
}

// In units of the drawing; a unit is a pixel on a narrow screen, where the oldest days are cut off (admin.css).
const dayWidth = 9
const barWidth = 7
const plotHeight = 150
const top = 12
const height = top + plotHeight + 24
const axisWidth = 48

export const sum = (numbers: number[]) => numbers.reduce((total, number) => total + number, 0)

/** @returns ticks of 1, 2 or 5 times a power of ten, from 0 to the first that is not below `most` */
function ticksFor(most: number): number[] {
  const rough = Math.max(most, 1) / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, power * ([1, 2, 5].find(factor => factor * power >= rough) ?? 10))
  return Array.from({ length: Math.ceil(Math.max(most, 1) / step) + 1 }, (_, index) => index * step)
}

const brief = new Intl.NumberFormat('en', { notation: 'compact' })

const isMonday = (day: string) => new Date(day).getUTCDay() === 1

/** Stacked bars, one a day, with a legend and the same numbers as a table. */
export function Chart({ title, summary, series, days }: ChartProps) {
  const ticks = ticksFor(Math.max(...days.map(({ counts }) => sum(counts))))
  const scale = plotHeight / (ticks.at(-1) ?? 1)
  const plotWidth = days.length * dayWidth
  const y = (value: number) => top + plotHeight - value * scale
  return (
    <figure class="chart">
      <h3>{title}</h3>
      <ul class="legend">
        {series.map(({ label, look, hatched }) => (
          <li key={label}>
            <span class={`key series ${look}${hatched ? ' hatched' : ''}`} />
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
              {brief.format(tick)}
            </text>
          </g>
        ))}
        {days.map((day, index) => (
          <Bar key={day.day} day={day} series={series} x={index * dayWidth + (dayWidth - barWidth) / 2} y={y} />
        ))}
        {days.map(
          ({ day }, index) =>
            isMonday(day) && (
              <g key={day}>
                <line class="base" x1={index * dayWidth} x2={index * dayWidth} y1={y(0)} y2={y(0) + 5} />
                <text x={index * dayWidth + 3} y={y(0) + 17}>
                  {shortDayText(day)}
                </text>
              </g>
            ),
        )}
      </svg>
      <p class="hint latest">The latest days that fit your screen. The table has all.</p>
      <Numbers title={title} series={series} days={days} />
    </figure>
  )
}

function Bar({ day, series, x, y }: { day: Day; series: Series[]; x: number; y: (value: number) => number }) {
  if (sum(day.counts) === 0) return null
  let below = 0
  const parts = series.map(({ label, look, hatched }, index) => {
    const part = { label, look, hatched, from: below, to: below + (day.counts[index] ?? 0) }
    below = part.to
    return part
  })
  return (
    <g>
      <title>{day.said}</title>
      <rect class="hover" x={x - (dayWidth - barWidth) / 2} width={dayWidth} y={top} height={plotHeight} />
      {parts
        .filter(({ from, to }) => to > from)
        .map(({ label, look, hatched, from, to }) => {
          const box = { x, width: barWidth, y: y(to), height: y(from) - y(to) }
          return (
            <g key={label}>
              <rect class={`series ${look}`} {...box} />
              {hatched && <rect fill="url(#hatch)" {...box} />}
            </g>
          )
        })}
    </g>
  )
}

function Numbers({ title, series, days }: Pick<ChartProps, 'title' | 'series' | 'days'>) {
  const used = days.filter(({ counts }) => sum(counts) > 0).reverse()
  return (
    <details>
      <summary>The numbers as a table</summary>
      <Scroll label={`${title}, as a table`}>
        <table>
          <caption>{title}, by day (UTC), newest first. Days without requests are left out.</caption>
          <thead>
            <tr>
              <th scope="col">Day</th>
              {series.map(({ label }) => (
                <th key={label} scope="col" class="number">
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {used.map(({ day, counts }) => (
              <tr key={day}>
                <th scope="row">{dayText(day)}</th>
                {series.map(({ label }, index) => (
                  <td key={label} class="number">
                    {count(counts[index] ?? 0)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </details>
  )
}
