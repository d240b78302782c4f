import { pipeline, Readable } from 'node:stream'
import { stringify } from 'csv-stringify'
import type { FastifyInstance } from 'fastify'
import {
  type AuditEntry,
  type AuditFilter,
  auditActions,
  exportAudit,
  isAuditAction,
  listAudit,
} from '../../domain/audit.ts'
import { badInput, type FieldErrors } from '../../domain/errors.ts'
import { parseIdentifier } from '../../domain/identifier.ts'
import { parseInstant } from '../../domain/instant.ts'
import { findTenants } from '../../domain/tenant.ts'
import { adminPath } from '../../http/paths.ts'
import { Choice, FaultSummary, Field } from '../components/field.tsx'
import { Page, sendPage, type View } from '../components/layout.tsx'
import { Pages } from '../components/pager.tsx'
import { actorOf, viewOf } from '../context.ts'
import { queryOf, textOf } from '../form-body.ts'
import type { AdminContext } from '../index.ts'
import { type TenantNames, tenantsIn } from './detail.tsx'
import { Entries } from './entries.tsx'

const path = `${adminPath}/audit`

const pageSize = 50

/** The audit: what was done, by whom, when and from where; to look at, and to take out as CSV. */
export function registerAuditPages(scope: FastifyInstance, { sql }: AdminContext): void {
  scope.get('/audit', async (request, reply) => {
    const query = queryOf(request)
    const { filter, fieldErrors } = readFilter(query)
    const faulty = Object.keys(fieldErrors).length > 0
    const listing = faulty
      ? nothing
      : await listPage(filter, parseIdentifier(textOf(query, 'before')), parseIdentifier(textOf(query, 'after')))
    const view = viewOf(request, reply)
    return sendPage(
      reply,
      <AuditPage view={view} query={query} fieldErrors={fieldErrors} listing={listing} />,
      faulty ? 422 : 200,
    )
  })

  scope.get('/audit.csv', { exposeHeadRoute: false }, async (request, reply) => {
    const { filter, fieldErrors } = readFilter(queryOf(request))
    if (Object.keys(fieldErrors).length > 0) throw badInput(fieldErrors)
    const entries = Readable.from(await exportAudit(sql, actorOf(request), filter))
    const csv = stringify({ header: true, columns, escape_formulas: true })
    // What fails, and a client that hangs up, ends both.
    pipeline(entries, csv, () => {})
    return reply
      .type('text/csv; charset=utf-8')
      .header('Content-Disposition', `attachment; filename="audit-${new Date().toISOString().slice(0, 10)}.csv"`)
      .send(csv)
  })

  /** A page of entries: those before one, those after one, or the newest. */
  async function listPage(filter: AuditFilter, before: number | null, after: number | null): Promise<Listing> {
    const limit = pageSize + 1
    const range = before ? { before, limit } : after ? { after, limit } : { limit }
    const found = await listAudit(sql, filter, range)
    // Nothing is older, or so little is newer that it does not fill a page: then the newest page is shown.
    if (before ? found.length === 0 : after && found.length < limit) return listPage(filter, null, null)
    const entries = after && !before ? found.slice(1) : found.slice(0, pageSize)
    const tenants = await findTenants(sql, [...new Set(entries.flatMap(tenantsIn))])
    return {
      entries,
      newer: before || after ? (entries[0]?.id ?? null) : null,
      older: after || found.length === limit ? (entries.at(-1)?.id ?? null) : null,
      tenants: new Map(tenants.flatMap(tenant => (tenant ? [[tenant.id, tenant.name]] : []))),
    }
  }
}

/** A page of entries, and from which one on to look for newer and older ones; null: there are none. */
interface Listing {
  entries: AuditEntry[]
  newer: number | null
  older: number | null
  tenants: TenantNames
}

const nothing: Listing = { entries: [], newer: null, older: null, tenants: new Map() }

const filterNames = ['actor', 'action', 'token', 'tenant', 'from', 'to'] as const

function readFilter(query: URLSearchParams): { filter: AuditFilter; fieldErrors: FieldErrors } {
  const filter: AuditFilter = {}
  const fieldErrors: FieldErrors = {}
  const actor = textOf(query, 'actor')
  if (actor) filter.actor = actor
  const action = textOf(query, 'action')
  if (isAuditAction(action)) filter.action = action
  else if (action) fieldErrors.action = ['There is no such act.']
  for (const [name, part] of [['token', 'tokenId'] as const, ['tenant', 'tenantId'] as const]) {
    const text = textOf(query, name)
    if (!text) continue
    const id = parseIdentifier(text)
    if (id !== null) filter[part] = id
    else fieldErrors[name] = [`Give the id of a ${name}, a whole number.`]
  }
  for (const name of ['from', 'to'] as const) {
    const day = textOf(query, name)
    if (!day) continue
    filter[name] = day
    if (!isDay(day)) fieldErrors[name] = ['Give a day as in 2026-11-21.']
  }
  const { from, to } = filter
  if (from && to && !fieldErrors.from && !fieldErrors.to && from > to)
    fieldErrors.to = ['Give a day that is not before the first.']
  return { filter, fieldErrors }
}

const isDay = (text: string) =>
  /^\d{4}-\d\d-\d\d$/.test(text) && parseInstant(`${text}T00:00Z`)?.startsWith(text) === true

/** The same filters, at another place. */
function linkTo(place: string, query: URLSearchParams, range: Record<string, number> = {}): string {
  const kept = new URLSearchParams()
  for (const name of filterNames) {
    const text = textOf(query, name)
    if (text) kept.set(name, text)
  }
  for (const [name, id] of Object.entries(range)) kept.set(name, String(id))
  return kept.size > 0 ? `${place}?${kept}` : place
}

interface AuditPageProps {
  view: View
  query: URLSearchParams
  fieldErrors: FieldErrors
  listing: Listing
}

function AuditPage({ view, query, fieldErrors, listing }: AuditPageProps) {
  const { entries, newer, older, tenants } = listing
  const filtered = filterNames.some(name => textOf(query, name) !== '')
  const faulty = Object.keys(fieldErrors).length > 0
  const takeOut = !faulty && (
    <a class="button plain" href={linkTo(`${path}.csv`, query)} download>
      Download as CSV
    </a>
  )
  return (
    <Page title="Audit" view={view} place="audit" actions={takeOut}>
      <p class="soft">Every administrative act and every export of personal data. Nothing in it can be changed.</p>
      <FaultSummary fieldErrors={fieldErrors} />
      <Filters query={query} fieldErrors={fieldErrors} filtered={filtered} />
      {entries.length > 0 ? (
        <Entries entries={entries} tenants={tenants} />
      ) : (
        !faulty && (
          <p class="card empty">
            {filtered ? 'Nothing was put down that fits all of these.' : 'Nothing has been put down yet.'}
          </p>
        )
      )}
      <Pages
        of="entries"
        newer={newer === null ? null : linkTo(path, query, { after: newer })}
        older={older === null ? null : linkTo(path, query, { before: older })}
      />
    </Page>
  )
}

const actionOptions = [
  { value: '', label: 'All' },
  ...Object.entries(auditActions).map(([value, label]) => ({ value, label })),
]

function Filters({
  query,
  fieldErrors,
  filtered,
}: {
  query: URLSearchParams
  fieldErrors: FieldErrors
  filtered: boolean
}) {
  const common = (name: (typeof filterNames)[number]) => ({ name, value: textOf(query, name), fieldErrors })
  return (
    <form class="filters" method="get" action={path} aria-label="Filter the audit">
      <Field {...common('actor')} label="Who" type="search" />
      <Choice {...common('action')} label="What" options={actionOptions} />
      <Field {...common('token')} label="Token (id)" />
      <Field {...common('tenant')} label="Tenant (id)" />
      <Field {...common('from')} label="From (UTC)" type="date" />
      <Field {...common('to')} label="To (UTC)" type="date" />
      <div class="actions">
        <button type="submit">Filter</button>
        {filtered && (
          <a class="button plain" href={path}>
            Show all
          </a>
        )}
      </div>
    </form>
  )
}

/** The columns of the CSV, and what they hold. */
const columns = [
  { key: 'at', header: 'at' },
  { key: 'actor', header: 'actor' },
  { key: 'address', header: 'address' },
  { key: 'action', header: 'action' },
  { key: 'tokenId', header: 'token_id' },
  { key: 'tokenName', header: 'token_name' },
  { key: 'tenantId', header: 'tenant_id' },
  { key: 'tenantName', header: 'tenant_name' },
  { key: 'administratorEmail', header: 'administrator' },
  { key: 'detail', header: 'detail' },
] satisfies { key: keyof AuditEntry; header: string }[]
