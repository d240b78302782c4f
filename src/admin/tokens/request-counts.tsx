import { type Series, sum } from '#charts'
import type { RequestCount } from '../../domain/token/request-count.ts'
import { formatCount } from '../components/format.tsx'
import { type Column, Table } from '../components/table.tsx'
import { DailyChart, type DailyCounts } from './daily-chart.tsx'

/** Shows the requests of a token as charts by day, and the same numbers as tables. */
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
          <div>
            <dt>{label}</dt>
            <dd>{formatTotal(counts.filter(({ day }) => day >= firstDay))}</dd>
          </div>
        ))}
      </dl>
      <DailyChart
        {...{ days, counts }}
        id="outcomes"
        title="Requests by day and outcome"
        series={outcomes}
        labelOf={({ status }) => outcomeLabel(status)}
      />
      <DailyChart
        {...{ days, counts }}
        id="operations"
        title="Requests by day and operation"
        series={listOperations(counts)}
        labelOf={({ operation }) => operationLabel(operation)}
        omitsZeros
      />
      <TableByStatus counts={counts} />
    </>
  )
}

const formatTotal = (counts: RequestCount[]) => formatCount(sum(counts.map(({ requests }) => requests)))

const outcomes: (Series & { includes: (status: number) => boolean })[] = [
  { label: 'succeeded', color: 'plot-first', includes: status => status < 400 },
  { label: 'rejected', color: 'rejected', includes: status => status >= 400 && status < 500 },
  { label: 'failed', color: 'failed', includes: status => status >= 500 },
]

/** The color of each resource in the charts. Bars are stacked in this order. */
const colors: Readonly<Record<string, string>> = {
  Tenant: 'plot-second',
  CatalogVoucher: 'catalog',
  PurchasedVoucher: 'purchased',
  MarketingSignup: 'signups',
  ResolveVoucher: 'resolve',
  GraphQL: 'graphql',
  other: 'unknown',
}

/**
 * The first words of the names of operations that read; the empty text stands for all other operations. Bars are
 * stacked in this order first.
 */
const verbs = ['List', 'Get', 'Export', '']

/** Returns the label of an operation: `List catalog vouchers` for `ListCatalogVouchers`. */
export const operationLabel = (name: string): string =>
  name === 'unknown'
    ? 'Unknown operation'
    : name.replace(/(?!^)[A-Z](?=[a-z])/g, capital => ` ${capital.toLowerCase()}`)

/**
 * Returns the operations that were requested. Operations on one resource share a color; the bars of `Get` and `Export`
 * are hatched.
 */
function listOperations(counts: readonly RequestCount[]): Series[] {
  const subjects = Object.keys(colors)
  const operations = [...new Set(counts.map(({ operation }) => operation))].sort().map(name => {
    const [, verb = '', noun = name] = /^(List|Get|Export)(\w+?)s?$/.exec(name) ?? []
    const subject = Object.hasOwn(colors, noun) ? noun : 'other'
    return {
      label: operationLabel(name),
      color: colors[subject] ?? '',
      hatched: verb === 'Get' || verb === 'Export',
      place: verbs.indexOf(verb) * subjects.length + subjects.indexOf(subject),
    }
  })
  return operations.sort((a, b) => a.place - b.place)
}

const outcomeLabel = (status: number) => outcomes.find(({ includes }) => includes(status))?.label ?? ''

interface OperationCounts {
  label: string
  counts: RequestCount[]
}

function TableByStatus({ counts }: Pick<DailyCounts, 'counts'>) {
  const statuses = [...new Set(counts.map(({ status }) => status))].sort((a, b) => a - b)
  const rows = listOperations(counts).map(({ label }) => ({
    label,
    counts: counts.filter(({ operation }) => operationLabel(operation) === label),
  }))
  const columns: Column<OperationCounts>[] = [
    { heading: 'Operation', cell: ({ label }) => label },
    ...statuses.map(status => ({
      heading: status === 499 ? '499 (client left)' : String(status),
      cell: (row: OperationCounts) => formatTotal(row.counts.filter(count => count.status === status)),
      numeric: true,
    })),
    { heading: 'Total', cell: row => formatTotal(row.counts), numeric: true },
  ]
  return (
    <>
      <h3>Requests by operation and status code</h3>
      <Table label="Requests by operation and status code, as a table" class="numbers" columns={columns} rows={rows} />
    </>
  )
}
