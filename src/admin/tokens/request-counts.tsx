import type { RequestCount } from '../../domain/request-count.ts'
import { type Bar, Chart, type Series, sum } from '../components/chart.tsx'
import { formatCount, formatDay } from '../components/format.ts'
import { type Column, Table } from '../components/table.tsx'

/** The requests of a token by day. */
export interface DailyCounts {
  /** All days, `YYYY-MM-DD` in UTC, oldest first. */
  days: string[]
  counts: RequestCount[]
}

/** The requests of a token: charts by day, and the same numbers as tables. */
export function RequestCounts({ days, counts }: DailyCounts) {
  if (counts.length === 0) {
    return (
      <p class="empty">
        This token has not been used in the last {days.length} days. Its requests are shown here by day, status and
        operation, a few seconds after it is used.
      </p>
    )
  }
  const periods = [
    { label: 'Today (UTC)', firstDay: days.at(-1) },
    { label: 'Last 7 days', firstDay: days.at(-7) },
    { label: `Last ${days.length} days`, firstDay: days[0] },
  ]
  return (
    <>
      <dl class="totals">
        {periods.map(({ label, firstDay = '' }) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd>{formatTotal(counts.filter(({ day }) => day >= firstDay))}</dd>
          </div>
        ))}
      </dl>
      <ChartByOutcome days={days} counts={counts} />
      <ChartByOperation days={days} counts={counts} />
      <TableByStatus counts={counts} />
    </>
  )
}

const formatTotal = (counts: RequestCount[]) => formatCount(sum(counts.map(({ requests }) => requests)))

const outcomes: (Series & { includes: (status: number) => boolean })[] = [
  { label: 'succeeded', color: 'succeeded', includes: status => status < 400 },
  { label: 'rejected', color: 'rejected', includes: status => status >= 400 && status < 500 },
  { label: 'failed', color: 'failed', includes: status => status >= 500 },
]

/** The operations of the service. Operations on one resource share a color; reading one record is hatched. */
const operations: (Series & { name: string })[] = [
  { name: 'ListTenants', label: 'List tenants', color: 'tenants' },
  { name: 'ListCatalogVouchers', label: 'List catalog vouchers', color: 'catalog' },
  { name: 'GetCatalogVoucher', label: 'Get catalog voucher', color: 'catalog', hatched: true },
  { name: 'ListPurchasedVouchers', label: 'List purchased vouchers', color: 'purchased' },
  { name: 'GetPurchasedVoucher', label: 'Get purchased voucher', color: 'purchased', hatched: true },
  { name: 'ListMarketingSignups', label: 'List marketing signups', color: 'signups' },
  { name: 'GetMarketingSignup', label: 'Get marketing signup', color: 'signups', hatched: true },
  { name: 'ResolveVoucher', label: 'Resolve voucher', color: 'resolve' },
  { name: 'GraphQL', label: 'GraphQL', color: 'graphql' },
]

const unknownOperation: Series = { label: 'Unknown operation', color: 'unknown' }

/** @returns the label of an operation by its name */
export const operationLabel = (name: string): string =>
  operations.find(operation => operation.name === name)?.label ?? unknownOperation.label

const outcomeLabel = (status: number) => outcomes.find(({ includes }) => includes(status))?.label ?? ''

/** @returns a bar for each day, with the requests of each series */
function barsOf(
  { days, counts }: DailyCounts,
  series: Series[],
  labelOf: (count: RequestCount) => string,
  describe: (values: number[]) => string,
): Bar[] {
  const values = new Map(days.map(day => [day, series.map(() => 0)]))
  for (const count of counts) {
    const dayValues = values.get(count.day)
    const index = series.findIndex(({ label }) => label === labelOf(count))
    if (dayValues?.[index] !== undefined) dayValues[index] += count.requests
  }
  return [...values].map(([day, dayValues]) => ({
    day,
    values: dayValues,
    description: `${formatDay(day)}: ${describe(dayValues)}`,
  }))
}

const labelled = (series: Series[], values: number[]) =>
  series.map(({ label }, index) => `${formatCount(values[index] ?? 0)} ${label}`)

/** @returns the totals and the busiest day, in words */
function summaryOf(series: Series[], bars: Bar[]): string {
  const totals = series.map((_, index) => sum(bars.map(({ values }) => values[index] ?? 0)))
  const busiest = bars.reduce((most, bar) => (sum(bar.values) > sum(most.values) ? bar : most))
  return `In ${bars.length} days: ${labelled(series, totals).join(', ')}. Most on ${busiest.description}.`
}

function ChartByOutcome(daily: DailyCounts) {
  const bars = barsOf(
    daily,
    outcomes,
    ({ status }) => outcomeLabel(status),
    values => labelled(outcomes, values).join(', '),
  )
  return <Chart title="Requests by day and outcome" summary={summaryOf(outcomes, bars)} series={outcomes} bars={bars} />
}

function ChartByOperation(daily: DailyCounts) {
  const used = new Set(daily.counts.map(({ operation }) => operationLabel(operation)))
  const series = [...operations, unknownOperation].filter(({ label }) => used.has(label))
  const bars = barsOf(
    daily,
    series,
    ({ operation }) => operationLabel(operation),
    values =>
      labelled(series, values)
        .filter((_, index) => values[index] !== 0)
        .join(', '),
  )
  return <Chart title="Requests by day and operation" summary={summaryOf(series, bars)} series={series} bars={bars} />
}

interface OperationCounts {
  label: string
  counts: RequestCount[]
}

function TableByStatus({ counts }: Pick<DailyCounts, 'counts'>) {
  const statuses = [...new Set(counts.map(({ status }) => status))].sort((a, b) => a - b)
  const rows = [...operations, unknownOperation]
    .map(({ label }) => ({ label, counts: counts.filter(({ operation }) => operationLabel(operation) === label) }))
    .filter(row => row.counts.length > 0)
  const columns: Column<OperationCounts>[] = [
    { heading: 'Operation', cell: ({ label }) => label },
    ...statuses.map(status => ({
      heading: String(status),
      cell: (row: OperationCounts) => formatTotal(row.counts.filter(count => count.status === status)),
      numeric: true,
    })),
    { heading: 'Total', cell: row => formatTotal(row.counts), numeric: true },
  ]
  return (
    <>
      <h3>Requests by operation and status code</h3>
      <Table
        label="Requests by operation and status code, as a table"
        columns={columns}
        rows={rows}
        rowKey={({ label }) => label}
      />
    </>
  )
}
