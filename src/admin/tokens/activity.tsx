import type { Sql } from '../../db/sql.ts'
import { type DailyExport, listExports } from '../../domain/record/export.ts'
import { listRequestCounts, listRequestErrors, type RequestErrorCount } from '../../domain/token/request-count.ts'
import type { Token } from '../../domain/token/token.ts'
import { millisecondsPerDay } from '../../domain/value/date.ts'
import { formatCount, formatDay, Timestamp } from '../components/format.tsx'
import { Section } from '../components/layout.tsx'
import { type Column, Table } from '../components/table.tsx'
import { operationLabel, RequestCounts } from './request-counts.tsx'

/** The number of days that are shown, today included. Days are in UTC. */
const shownDays = 90

/** Loads the requests, errors and exports of a token in the last 90 days. */
export async function loadActivity(sql: Sql, { id, permissions }: Token) {
  const [counts, errors, exports] = await Promise.all([
    listRequestCounts(sql, id, shownDays),
    listRequestErrors(sql, id, shownDays),
    listExports(sql, id, shownDays),
  ])
  const now = Date.now()
  const dates = Array.from({ length: shownDays }, (_, index) =>
    new Date(now - (shownDays - 1 - index) * millisecondsPerDay).toISOString().slice(0, 10),
  )
  return { days: dates, counts, errors, exports, mayExport: permissions.includes('export_customer_information') }
}

/** Shows the requests of a token, their errors, and the exports of personal data to the token. */
export function Activity({ activity }: { activity: Awaited<ReturnType<typeof loadActivity>> }) {
  const { errors, exports, mayExport, ...requests } = activity
  return (
    <>
      <Section id="activity" title={`Activity in the last ${shownDays} days`}>
        <RequestCounts {...requests} />
      </Section>
      <Section id="errors" title="Errors and their reasons">
        <Table
          label="Errors, as a table"
          columns={errorColumns}
          rows={errors}
          empty={`No errors in the last ${shownDays} days.`}
        />
      </Section>
      {(mayExport || exports.length > 0) && (
        <Section id="exports" title="Exported personal data">
          <Table
            label="Exported personal data, as a table"
            columns={exportColumns}
            rows={exports}
            empty={`No personal data was exported in the last ${shownDays} days.`}
          />
        </Section>
      )}
    </>
  )
}

const errorColumns: Column<RequestErrorCount>[] = [
  {
    heading: 'Reason',
    cell: ({ reason, code }) => (
      <>
        {reason} <code class="muted">{code}</code>
      </>
    ),
  },
  { heading: 'Operation', cell: ({ operation }) => operationLabel(operation) },
  { heading: 'Requests', cell: ({ requests }) => formatCount(requests), numeric: true },
  { heading: 'Last', cell: ({ lastAt }) => <Timestamp at={lastAt} /> },
]

const exportColumns: Column<DailyExport>[] = [
  {
    heading: 'Tenant',
    cell: ({ tenantName, tenantId }) => (
      <>
        {tenantName ?? 'A deleted tenant'} <span class="muted">({tenantId})</span>
      </>
    ),
  },
  { heading: 'Day (UTC)', cell: ({ day }) => formatDay(day) },
  { heading: 'Records', cell: ({ records }) => formatCount(records), numeric: true },
  { heading: 'Last', cell: ({ lastAt }) => <Timestamp at={lastAt} /> },
]
