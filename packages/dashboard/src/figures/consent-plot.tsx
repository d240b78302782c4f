import { formatCount, formatShortCount } from '../format.ts'
import type { Interval } from '../period.ts'
import { NothingToPlot } from '../placeholders.tsx'
import { Plot } from '../plots/plot.tsx'
import { numberColumn } from '../tables/data-table.tsx'
import { type ConsentPeriod, countConsents, labelPeriod, namePeriod } from './model.ts'

/** New and withdrawn consents to marketing over time. */
export function ConsentPlot({ periods, by }: { periods: readonly ConsentPeriod[]; by: Interval }) {
  const title = 'Consents to marketing'
  const { given, withdrawn } = countConsents(periods)
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
          series: [{ label: 'New', color: 'plot-first' }],
          values: periods.map(period => [period.given]),
          height: 190,
          formatTick: formatShortCount,
        },
        {
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
          numberColumn<ConsentPeriod>('New', period => period.given, formatCount),
          numberColumn<ConsentPeriod>('Withdrawn', period => period.withdrawn, formatCount),
        ],
      }}
    />
  )
}
