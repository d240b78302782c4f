// Draws stacked bars as SVG, in a page of the service and in a browser. The page adds the words and the table.
import type { SVGAttributes } from 'preact'

/** A series of a plot: the same in all bars. */
export interface Series {
  /** The label in the legend, and the heading of its column. */
  label: string
  /** The variable of its color in the style sheet of the page. */
  color: string
  /** Distinguishes the series from another series with the same color. */
  hatched?: boolean
}

/** A bar of a plot. */
export interface Bar {
  /** One value for each series, in the order of `series`. */
  values: readonly number[]
  /** The values in words, for the tooltip; without it, the bar has no tooltip. */
  description?: string
}

/** A text below the bars. */
export interface AxisLabel {
  /** The index of its bar. */
  index: number
  text: string
}

interface BarPlotProps {
  /** Names the patterns of this plot; unique on the page. */
  id: string
  /** The plot in words, for screen readers. Without it, the surrounding elements describe the plot. */
  label?: string
  series: readonly Series[]
  /** All bars, oldest first. A bar without values is a gap. */
  bars: readonly Bar[]
  /** The distance between the left edges of two neighbouring bars, in units of the SVG. */
  step: number
  barWidth: number
  plotHeight: number
  /** The width for the texts at the right. */
  axisWidth: number
  ticks: readonly number[]
  formatTick: (tick: number) => string
  labels: readonly AxisLabel[]
  /** True when a label is centred below its bar. Default: it begins at a mark at the bar's left edge. */
  centred?: boolean
  /** The index of the bar that is pointed at. */
  selected?: number | null
  /** The SVG attribute that fits the plot into a box of other proportions. */
  preserveAspectRatio?: string
}

const top = 12
const labelHeight = 24
const axisColor = 'var(--field-line)'

/** Stacked bars over an axis, with ticks at the right. */
export function BarPlot({ id, label, series, bars, step, barWidth, plotHeight, axisWidth, ...rest }: BarPlotProps) {
  const { ticks, formatTick, labels, centred = false, selected = null, preserveAspectRatio } = rest
  const scale = plotHeight / (ticks.at(-1) || 1)
  const plotWidth = bars.length * step
  const height = top + plotHeight + (labels.length > 0 ? labelHeight : 4)
  const y = (value: number) => top + plotHeight - value * scale
  const hatch = `${id}-hatch`
  return (
    <svg
      class="plot"
      viewBox={`0 0 ${plotWidth + axisWidth} ${height}`}
      {...(preserveAspectRatio ? { preserveAspectRatio } : { width: plotWidth + axisWidth, height })}
      role="img"
      aria-label={label}
      aria-hidden={label === undefined}
    >
      <defs>
        <pattern id={hatch} width="4" height="4" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect fill="var(--sheet)" width="1.6" height="4" />
        </pattern>
      </defs>
      {ticks.map(tick => (
        <g>
          <line stroke={tick === 0 ? axisColor : 'var(--line)'} x1="0" x2={plotWidth} y1={y(tick)} y2={y(tick)} />
          <text x={plotWidth + 8} y={y(tick) + 4}>
            {formatTick(tick)}
          </text>
        </g>
      ))}
      {selected !== null && <rect class="selected" x={selected * step} width={step} y={top} height={plotHeight} />}
      {bars.map((bar, index) => (
        <BarShape {...{ bar, series, step, barWidth, plotHeight, y, hatch }} x={index * step} />
      ))}
      {labels.map(({ index, text }) => (
        <g>
          <line stroke={axisColor} x1={index * step} x2={index * step} y1={y(0)} y2={y(0) + (centred ? 0 : 5)} />
          <text {...placeLabel(index, step, centred)} y={y(0) + 17}>
            {text}
          </text>
        </g>
      ))}
    </svg>
  )
}

/** Centres a label below its bar, or sets it next to the mark at the bar's left edge. */
const placeLabel = (index: number, step: number, centred: boolean) =>
  centred ? { x: (index + 0.5) * step, 'text-anchor': 'middle' } : { x: index * step + 3 }

interface BarShapeProps extends Pick<BarPlotProps, 'series' | 'step' | 'barWidth' | 'plotHeight'> {
  bar: Bar
  /** The left edge of the place of the bar. */
  x: number
  y: (value: number) => number
  hatch: string
}

function BarShape({ bar, series, step, barWidth, plotHeight, x, y, hatch }: BarShapeProps) {
  if (sum(bar.values) === 0) return null
  let below = 0
  const parts = series.map(({ color, hatched }, index) => {
    const part = { color, hatched, from: below, to: below + (bar.values[index] ?? 0) }
    below = part.to
    return part
  })
  return (
    <g>
      {bar.description && <title>{bar.description}</title>}
      {bar.description && <rect class="hover" x={x} width={step} y={top} height={plotHeight} />}
      {parts
        .filter(({ from, to }) => to > from)
        .map(({ color, hatched, from, to }) => (
          <Area
            color={color}
            hatch={hatched ? hatch : null}
            x={x + (step - barWidth) / 2}
            width={barWidth}
            y={y(to)}
            height={y(from) - y(to)}
          />
        ))}
    </g>
  )
}

interface AreaProps extends Pick<SVGAttributes, 'x' | 'y' | 'width' | 'height' | 'rx'> {
  color: string
  /** The id of the pattern that hatches it, or null. */
  hatch: string | null
}

/** The area of a series, in its bars and in the legend. */
const Area = ({ color, hatch, ...box }: AreaProps) => (
  <>
    <rect fill={`var(--${color})`} {...box} />
    {hatch && <rect fill={`url(#${hatch})`} {...box} />}
  </>
)

/** Names the series of a plot. */
export const Legend = ({ id, series }: { id: string; series: readonly Series[] }) => (
  <ul class="legend">
    {series.map(({ label, color, hatched }) => (
      <li>
        <svg class="key" aria-hidden="true">
          <Area color={color} hatch={hatched ? `${id}-hatch` : null} width="100%" height="100%" rx="3" />
        </svg>
        {label}
      </li>
    ))}
  </ul>
)

/** Returns the sum of the numbers. */
export const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/**
 * Returns the ticks of an axis: whole multiples of 1, 2 or 5 times a power of ten, from 0 to the first not below `most`.
 *
 * @param most the largest value, 0 or more
 * @param steps about how many steps the axis has
 */
export function ticksFor(most: number, steps = 4): number[] {
  const rough = Math.max(most, 1) / steps
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, power * ([1, 2, 5].find(factor => factor * power >= rough) ?? 10))
  return Array.from({ length: Math.ceil(Math.max(most, 1) / step) + 1 }, (_, index) => index * step)
}
