import type { RequestCount } from '../../domain/request-count.ts'
import { Chart, type Day, type Series, sum } from '../components/chart.tsx'
import { count } from '../components/count.ts'
import { dayText } from '../components/day.ts'
import { Scroll } from '../components/scroll-region.tsx'

/** What a token was used for in some days. */
export interface Used {
  /** All of them, `YYYY-MM-DD` in UTC, oldest first. */
  days: string[]
  usage: RequestCount[]
}

/** What a token was used for: charts by day, and the same as tables. */
export function Requests({ days, usage }: Used) {
  if (usage.length === 0) {
    return (
      <p class="empty">
        This token has not been used in the last {days.length} days. Once it is, its requests are shown here by day,
        status and operation, within a few seconds.
      </p>
    )
  }
  const since = (first: string | undefined) =>
    count(sum(usage.filter(({ day }) => day >= (first ?? '')).map(({ requests }) => requests)))
  return (
    <>
      <dl class="totals">
        <div>
          <dt>Today (UTC)</dt>
          <dd>{since(days.at(-1))}</dd>
        </div>
        <div>
          <dt>Last 7 days</dt>
          <dd>{since(days.at(-7))}</dd>
        </div>
        <div>
          <dt>Last {days.length} days</dt>
          <dd>{since(days[0])}</dd>
        </div>
      </dl>
      <ByStatus days={days} usage={usage} />
      <ByOperation days={days} usage={usage} />
      <Statuses usage={usage} />
    </>
  )
}

const outcomes: (Series & { holds: (status: number) => boolean })[] = [
  { label: 'answered', look: 'ok', holds: status => status < 400 },
  { label: 'refused', look: 'refused', holds: status => status >= 400 && status < 500 },
  { label: 'failed', look: 'failed', holds: status => status >= 500 },
]

/** The service's operations. Those on the same things share a colour; the one that reads a single thing is hatched. */
const operations: (Series & { name: string })[] = [
  { name: 'ListTenants', label: 'List tenants', look: 'tenants' },
  { name: 'ListCatalogVouchers', label: 'List catalog vouchers', look: 'catalog' },
  { name: 'GetCatalogVoucher', label: 'Get catalog voucher', look: 'catalog', hatched: true },
  { name: 'ListPurchasedVouchers', label: 'List purchased vouchers', look: 'purchased' },
  { name: 'GetPurchasedVoucher', label: 'Get purchased voucher', look: 'purchased', hatched: true },
  { name: 'ListMarketingSignups', label: 'List marketing signups', look: 'signups' },
  { name: 'GetMarketingSignup', label: 'Get marketing signup', look: 'signups', hatched: true },
  { name: 'ResolveVoucher', label: 'Resolve voucher', look: 'resolve' },
  { name: 'GraphQL', label: 'GraphQL', look: 'graphql' },
]

const others: Series = { label: 'Unknown operation', look: 'unknown' }

export const operationLabel = (name: string) =>
  operations.find(operation => operation.name === name)?.label ?? others.label

/** Each day's requests, counted by what they belong to. */
function countByDay(days: string[], usage: RequestCount[], kinds: string[], kindOf: (row: RequestCount) => string) {
  const counts = new Map(days.map(day => [day, kinds.map(() => 0)]))
  for (const row of usage) {
    const bar = counts.get(row.day)
    const index = kinds.indexOf(kindOf(row))
    if (bar?.[index] !== undefined) bar[index] += row.requests
  }
  return [...counts].map(([day, counts]) => ({ day, counts }))
}

const listed = (labels: string[], counts: number[]) =>
  labels.map((label, index) => `${count(counts[index] ?? 0)} ${label}`)

/** In all, and on the busiest day. */
function summaryOf(labels: string[], days: Day[]): string {
  const totals = labels.map((_, index) => sum(days.map(({ counts }) => counts[index] ?? 0)))
  const busiest = days.reduce((most, day) => (sum(day.counts) > sum(most.counts) ? day : most))
  return `In ${days.length} days: ${listed(labels, totals).join(', ')}. Most on ${busiest.said}.`
}

function ByStatus({ days, usage }: Used) {
  const labels = outcomes.map(({ label }) => label)
  const bars = countByDay(
    days,
    usage,
    labels,
    ({ status }) => outcomes.find(({ holds }) => holds(status))?.label ?? '',
  ).map(bar => ({ ...bar, said: `${dayText(bar.day)}: ${listed(labels, bar.counts).join(', ')}` }))
  return <Chart title="Requests a day by outcome" summary={summaryOf(labels, bars)} series={outcomes} days={bars} />
}

function ByOperation({ days, usage }: Used) {
  const used = new Set(usage.map(({ operation }) => operationLabel(operation)))
  const series = [...operations, others].filter(({ label }) => used.has(label))
  const labels = series.map(({ label }) => label)
  const bars = countByDay(days, usage, labels, ({ operation }) => operationLabel(operation)).map(bar => {
    const parts = listed(labels, bar.counts).filter((_, index) => bar.counts[index] !== 0)
    return { ...bar, said: `${dayText(bar.day)}: ${parts.join(', ')}` }
  })
  return <Chart title="Requests a day by operation" summary={summaryOf(labels, bars)} series={series} days={bars} />
}

function Statuses({ usage }: Pick<Used, 'usage'>) {
  const statuses = [...new Set(usage.map(({ status }) => status))].sort((one, other) => one - other)
  const labels = [...operations, others].map(({ label }) => label)
  const rows = labels
    .map(label => ({ label, uses: usage.filter(({ operation }) => operationLabel(operation) === label) }))
    .filter(({ uses }) => uses.length > 0)
  const total = (uses: RequestCount[]) => count(sum(uses.map(({ requests }) => requests)))
  return (
    <>
      <h3 id="statuses">Requests by operation and status code</h3>
      <Scroll label="Requests by operation and status code, as a table">
        <table aria-labelledby="statuses">
          <thead>
            <tr>
              <th scope="col">Operation</th>
              {statuses.map(status => (
                <th key={status} scope="col" class="number">
                  {status}
                </th>
              ))}
              <th scope="col" class="number">
                In all
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ label, uses }) => (
              <tr key={label}>
                <th scope="row">{label}</th>
                {statuses.map(status => (
                  <td key={status} class="number">
                    {total(uses.filter(use => use.status === status))}
                  </td>
                ))}
                <td class="number">{total(uses)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </>
  )
}
