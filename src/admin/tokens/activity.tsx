import type { Sql } from '../../db/connect.ts'
import {
  type DailyExport,
  listExports,
  listRequestCounts,
  listRequestErrors,
  type RequestErrorCount,
} from '../../domain/request-count.ts'
import type { Token } from '../../domain/token.ts'
import { count } from '../components/count.ts'
import { dayText } from '../components/day.ts'
import { Scroll } from '../components/scroll-region.tsx'
import { Moment } from '../components/timestamp.tsx'
import { operationLabel, Requests, type Used } from './requests.tsx'

/** How far back it is looked, in days. */
const span = 90

/** What a token was used for in the last 90 days (UTC, today among them). */
export interface Activity extends Used {
  refusals: RequestErrorCount[]
  exports: DailyExport[]
  /** Whether it may now read personal data. */
  mayExport: boolean
}

/** @returns what a token was used for in the last days */
export async function loadActivity(sql: Sql, { id, permissions }: Token): Promise<Activity> {
  const [usage, refusals, exports] = await Promise.all([
    listRequestCounts(sql, id, span),
    listRequestErrors(sql, id, span),
    listExports(sql, id, span),
  ])
  const now = Date.now()
  const days = Array.from({ length: span }, (_, index) =>
    new Date(now - (span - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  )
  return { days, usage, refusals, exports, mayExport: permissions.includes('export_customer_information') }
}

/** What a token was used for, refused and given. */
export function Activity({ activity }: { activity: Activity }) {
  return (
    <>
      <section class="card" aria-labelledby="activity">
        <h2 id="activity">Activity in the last {span} days</h2>
        <Requests {...activity} />
      </section>
      <section class="card" aria-labelledby="refusals">
        <h2 id="refusals">What was refused, and why</h2>
        <Refusals refusals={activity.refusals} />
      </section>
      {(activity.mayExport || activity.exports.length > 0) && (
        <section class="card" aria-labelledby="exports">
          <h2 id="exports">Personal data given out</h2>
          <Exports exports={activity.exports} />
        </section>
      )}
    </>
  )
}

function Refusals({ refusals }: Pick<Activity, 'refusals'>) {
  if (refusals.length === 0) return <p class="empty">Nothing was refused in the last {span} days.</p>
  return (
    <Scroll label="What was refused, as a table">
      <table class="cards" aria-labelledby="refusals">
        <thead>
          <tr>
            <th scope="col">Reason</th>
            <th scope="col">Operation</th>
            <th scope="col" class="number">
              How often
            </th>
            <th scope="col">Last</th>
          </tr>
        </thead>
        <tbody>
          {refusals.map(({ operation, code, reason, requests, lastAt }) => (
            <tr key={`${operation} ${code} ${reason}`}>
              <th scope="row">
                {reason} <code class="soft">{code}</code>
              </th>
              <td data-label="Operation">{operationLabel(operation)}</td>
              <td class="number" data-label="How often">
                {count(requests)}
              </td>
              <td data-label="Last">
                <Moment at={lastAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

function Exports({ exports }: Pick<Activity, 'exports'>) {
  if (exports.length === 0) return <p class="empty">No personal data was given out in the last {span} days.</p>
  return (
    <Scroll label="Personal data given out, as a table">
      <table class="cards" aria-labelledby="exports">
        <thead>
          <tr>
            <th scope="col">Tenant</th>
            <th scope="col">Day (UTC)</th>
            <th scope="col" class="number">
              Records
            </th>
            <th scope="col">Last</th>
          </tr>
        </thead>
        <tbody>
          {exports.map(({ day, tenantId, tenantName, records, lastAt }) => (
            <tr key={`${day} ${tenantId}`}>
              <th scope="row">
                {tenantName ?? 'A tenant that is gone'} <span class="soft">({tenantId})</span>
              </th>
              <td data-label="Day">{dayText(day)}</td>
              <td class="number" data-label="Records">
                {count(records)}
              </td>
              <td data-label="Last">
                <Moment at={lastAt} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}
