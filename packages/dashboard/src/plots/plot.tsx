// A figure with bars over time: a summary, the plot, the values of the selected bar, and the numbers as a table.
import { useState } from 'preact/hooks'
import { type AxisLabel, BarPlot, Legend, type Series, ticksFor } from '../../../charts/src/bar-plot.tsx'
import { DataTable, type DataTableProps } from '../tables/data-table.tsx'
import { useView } from '../use-view.ts'
import type { Filters } from '../vouchers/filter.ts'
import { showVouchers, VouchersLink } from '../vouchers/vouchers-link.tsx'
import { useWidth } from './use-width.ts'

/** One point on the axis of a plot. */
interface PlotPoint {
  /** The label of the point on the axis, which is shown only if there is space. */
  tick: string
  /** The text with the name and the values of the point, such as `November 2026: £1,204 of 31 vouchers`. */
  description: string
  /** The filters that select the vouchers of the point; null or undefined when no filters select these vouchers. */
  filters?: Filters | null
}

/** Bars whose values have one unit. Several panels are stacked vertically and share the same points. */
interface PlotPanel {
  /** The name of the values. When there are several panels, it is also the title of the panel. */
  label: string
  /** The value of each point; null for a point without a value. */
  values: readonly (number | null)[]
  /** For values that are shares: the name of the rest of the bar, up to 1. */
  rest?: string
  /** The height of the panel, in pixels. */
  height: number
  formatTick: (tick: number) => string
}

/**
 * Returns the series of a panel: its values and, for shares, the rest.
 *
 * @param index the position of the panel from the top, from 0
 */
const seriesOf = ({ label, rest }: PlotPanel, index: number): Series[] => [
  { label, color: index === 0 ? 'plot-first' : 'plot-second' },
  ...(rest === undefined ? [] : [{ label: rest, color: 'plot-rest', hatched: true }]),
]

interface PlotProps<Row> {
  /** Unique on the page. */
  id: string
  title: string
  /** A description of the plot in sentences, with the total and the extremes. */
  summary: string
  points: readonly PlotPoint[]
  panels: readonly PlotPanel[]
  table: Omit<DataTableProps<Row>, 'label'>
  /** The index of the point whose values are shown while no bar is pointed at. Default: the last point. */
  rest?: number
}

const valuesOf = ({ rest }: PlotPanel, value: number | null): number[] =>
  value === null ? [] : rest === undefined ? [value] : [value, 1 - value]

/** The width of a character on the axis, and the minimum space between two labels, in pixels. */
const [characterWidth, labelSpace] = [6.2, 14]

/** Returns the width of the longest tick, in pixels. Capital letters, as in `KWD 600`, are wider than digits. */
function measureAxis(panels: readonly PlotPanel[]): number {
  const texts = panels.flatMap(panel => ticksOf(panel).map(panel.formatTick))
  return Math.max(52, ...texts.map(text => 12 + text.length * 7.6))
}

const ticksOf = ({ rest, values, height }: PlotPanel): readonly number[] =>
  rest === undefined
    ? ticksFor(Math.max(0, ...values.map(value => value ?? 0)), height < 100 ? 2 : 4)
    : [0, 0.25, 0.5, 0.75, 1]

/**
 * Draws a plot. For the keyboard, the plot is a slider over its points. A click on a bar, or on the link below the
 * bars, shows the vouchers that the bar counts.
 */
export function Plot<Row>({ id, title, summary, points, panels, table, rest }: PlotProps<Row>) {
  const { go } = useView()
  const { ref, width } = useWidth<HTMLDivElement>()
  const [pointed, setPointed] = useState<number | null>(null)
  const axisWidth = measureAxis(panels)
  const last = points.length - 1
  const selected = pointed === null ? null : Math.min(pointed, last)
  const current = selected ?? Math.min(rest ?? last, last)
  const step = Math.max(1, (width - axisWidth) / points.length)
  const barWidth = step < 4 ? step : Math.min(step * 0.72, step - 1.5, 44)
  const labels = pickLabels(points, step)

  const move = (event: KeyboardEvent) => {
    const from = current
    const next = { ArrowLeft: from - 1, ArrowDown: from - 1, ArrowRight: from + 1, ArrowUp: from + 1 }[event.key]
    const index = event.key === 'Home' ? 0 : event.key === 'End' ? last : next
    if (event.key === 'Escape') setPointed(null)
    if (index === undefined) return
    event.preventDefault()
    setPointed(Math.min(last, Math.max(0, index)))
  }
  const indexAt = (event: MouseEvent & { currentTarget: HTMLElement }) => {
    const index = Math.floor((event.clientX - event.currentTarget.getBoundingClientRect().left) / step)
    return index >= 0 && index <= last ? index : null
  }
  return (
    <figure class="plot-card card" aria-labelledby={`${id}-title`}>
      <h2 id={`${id}-title`}>{title}</h2>
      <p class="plot-summary" id={`${id}-summary`}>
        {summary}
      </p>
      {panels.some(({ rest }) => rest) && <Legend id={`${id}-0`} series={panels.flatMap(seriesOf)} />}
      <div
        ref={ref}
        class={points.some(({ filters }) => filters) ? 'plot-frame opens' : 'plot-frame'}
        role="slider"
        tabIndex={0}
        aria-label={`${title}, value by value`}
        aria-describedby={`${id}-summary`}
        aria-valuemin={0}
        aria-valuemax={last}
        aria-valuenow={current}
        aria-valuetext={points[current]?.description ?? ''}
        onKeyDown={move}
        onFocus={() => setPointed(current)}
        onPointerMove={event => setPointed(indexAt(event))}
        // On a touch screen the point stays selected, so that the person can tap the link below the bars.
        onPointerLeave={event => event.pointerType === 'mouse' && setPointed(null)}
        onClick={event => {
          const { filters } = points[indexAt(event) ?? -1] ?? {}
          if (filters) showVouchers(go, filters)
        }}
      >
        {panels.map((panel, index) => (
          <div class="plot-panel">
            {panels.length > 1 && <p class="panel-title">{panel.label}</p>}
            {width > 0 ? (
              <BarPlot
                {...{ step, barWidth, axisWidth, selected }}
                series={seriesOf(panel, index)}
                formatTick={panel.formatTick}
                id={`${id}-${index}`}
                bars={panel.values.map(value => ({ values: valuesOf(panel, value) }))}
                plotHeight={panel.height}
                ticks={ticksOf(panel)}
                labels={index === panels.length - 1 ? labels : []}
                centred
              />
            ) : (
              <svg class="plot" width="1" height={panel.height + 36} aria-hidden="true" />
            )}
          </div>
        ))}
      </div>
      <p class="readout">
        <VouchersLink filters={points[current]?.filters ?? null}>{points[current]?.description}</VouchersLink>
      </p>
      <details>
        <summary>The numbers as a table</summary>
        <DataTable {...table} label={`${title}, as a table`} />
      </details>
    </figure>
  )
}

/**
 * Returns as many labels as fit, at equal distances. The last label is always included, and no label crosses the left
 * edge.
 */
function pickLabels(points: readonly PlotPoint[], step: number): AxisLabel[] {
  const width = Math.max(...points.map(({ tick }) => tick.length)) * characterWidth + labelSpace
  const every = Math.max(1, Math.ceil(width / step))
  const offset = (points.length - 1) % every
  const hasRoom = (index: number) => index % every === offset && (every === 1 || (index + 0.5) * step > width / 2)
  return points.flatMap(({ tick }, index) => (hasRoom(index) ? [{ index, text: tick }] : []))
}
