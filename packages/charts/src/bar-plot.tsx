// Draws stacked bars as SVG, for pages of the service and for the dashboard. The caller adds the description and the
// table.
import type { SVGAttributes } from 'preact'

/** A series of a plot, with the same label and color in all bars. */
export interface Series {
  /** The label of the series in the legend, and the heading of its column in the table. */
  label: string
  /** The CSS variable with the color of the series, without `--`. */
  color: string
  /** Hatches the area, to distinguish the series from another one with the same color. */
  hatched?: boolean
}

/** A stacked bar, with the values of one point of the axis. */
export interface Bar {
  /** One value per series, in the order of `series`. */
  values: readonly number[]
  /** The text of the tooltip; without this text, the bar has no tooltip. */
  description?: string
}

export interface AxisLabel {
  /** The index of the bar above the text. */
  index: number
  text: string
}

interface BarPlotProps {
  /** The prefix of the ids in this plot; must be unique on the page. */
  id: string
  /** Describes the plot to screen readers. Without this text, the surrounding elements must describe the plot. */
  label?: string
  series: readonly Series[]
  /** All bars, oldest first. A bar without values leaves a gap. */
  bars: readonly Bar[]
  /** The distance between the left edges of two neighbouring bars, in units of the SVG. */
  step: number
  barWidth: number
  plotHeight: number
  /** The width that is reserved for the ticks at the right, in units of the SVG. */
  axisWidth: number
  ticks: readonly number[]
  formatTick: (tick: number) => string
  labels: readonly AxisLabel[]
  /**
   * True when a label is centred below its bar. Default: the label begins next to a mark at the left edge of the bar.
   */
  centred?: boolean
  /** The index of the highlighted bar. */
  selected?: number | null
  /** The SVG attribute that decides how the plot fits into a box with another aspect ratio. */
  preserveAspectRatio?: string
}

const topMargin = 12
const labelHeight = 24
const axisColor = 'var(--field-line)'

/** Draws stacked bars above an axis, with ticks at the right. */
export function BarPlot({ id, label, series, bars, step, barWidth, plotHeight, axisWidth, ...rest }: BarPlotProps) {
  const { ticks, formatTick, labels, centred = false, selected = null, preserveAspectRatio } = rest
  const scale = plotHeight / (ticks.at(-1) || 1)
  const plotWidth = bars.length * step
  const height = topMargin + plotHeight + (labels.length > 0 ? labelHeight : 4)
  const y = (value: number) => topMargin + plotHeight - value * scale
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
      {selected !== null && (
        <rect class="selected" x={selected * step} width={step} y={topMargin} height={plotHeight} />
      )}
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

/** Returns the position of a label: centred below its bar, or next to the mark at the left edge of the bar. */
const placeLabel = (index: number, step: number, centred: boolean) =>
  centred ? { x: (index + 0.5) * step, 'text-anchor': 'middle' } : { x: index * step + 3 }

interface BarShapeProps extends Pick<BarPlotProps, 'series' | 'step' | 'barWidth' | 'plotHeight'> {
  bar: Bar
  /** The left edge of the space for the bar, in units of the SVG. */
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
      {bar.description && <rect class="hover" x={x} width={step} y={topMargin} height={plotHeight} />}
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
  /** The id of the pattern that hatches the area; null for an area without hatching. */
  hatch: string | null
}

/** Draws the area of a series, in a bar or in the legend. */
const Area = ({ color, hatch, ...box }: AreaProps) => (
  <>
    <rect fill={`var(--${color})`} {...box} />
    {hatch && <rect fill={`url(#${hatch})`} {...box} />}
  </>
)

/** The legend of a plot: the color and the label of each series. */
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

/** Returns the sum of the numbers; 0 for an empty list. */
export const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/**
 * Returns the ticks of an axis, from 0 to the first tick that is at least `most`. The distance between ticks is 1, 2 or
 * 5 times a power of ten.
 *
 * @param most the largest value, 0 or more
 * @param steps the approximate number of steps of the axis
 */
export function ticksFor(most: number, steps = 4): number[] {
  const rough = Math.max(most, 1) / steps
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = Math.max(1, power * ([1, 2, 5].find(factor => factor * power >= rough) ?? 10))
  return Array.from({ length: Math.ceil(Math.max(most, 1) / step) + 1 }, (_, index) => index * step)
}
