import { sum } from '../../../charts/src/index.ts'
import { formatCount, formatShortCount } from '../format.ts'
import type { Interval } from '../period.ts'
import { Plot } from '../plots/plot.tsx'
import { NothingToPlot } from '../states.tsx'
import { type ConsentPeriod, labelPeriod, namePeriod } from './model.ts'

/** New and withdrawn consents to marketing over time. */
export function ConsentPlot({ periods, by }: { periods: readonly ConsentPeriod[]; by: Interval }) {
  const title = 'Consents to marketing'
  const given = sum(periods.map(period => period.given))
  const withdrawn = sum(periods.map(period => period.withdrawn))
  if (given + withdrawn === 0) {
    return <NothingToPlot title={title} text="No consent was given or withdrawn in this period." />
  }
  const words = (news: number, ends: number) => `${formatCount(news)} new, ${formatCount(ends)} withdrawn`
  const name = (period: ConsentPeriod) => namePeriod(period, by)
  return (
    <Plot
      id="consents"
      title={title}
      summary={`${words(given, withdrawn)}.`}
      points={periods.map(period => ({
        tick: labelPeriod(period, by, periods.length > 12),
        description: `${name(period)}: ${words(period.given, period.withdrawn)}`,
      }))}
      panels={[
        {
          title: 'New',
          series: [{ label: 'New', color: 'plot-first' }],
          values: periods.map(period => [period.given]),
          height: 190,
          formatTick: formatShortCount,
        },
        {
          title: 'Withdrawn',
          series: [{ label: 'Withdrawn', color: 'plot-second' }],
          values: periods.map(period => [period.withdrawn]),
          height: 60,
          formatTick: formatShortCount,
        },
      ]}
      table={{
        rows: periods,
        columns: [
          { heading: 'Period', cell: name, sortBy: ({ from }) => from },
          { heading: 'New', cell: period => formatCount(period.given), sortBy: period => period.given, numeric: true },
          {
            heading: 'Withdrawn',
            cell: period => formatCount(period.withdrawn),
            sortBy: period => period.withdrawn,
            numeric: true,
          },
        ],
      }}
    />
  )
}
