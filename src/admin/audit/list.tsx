// Shows the audit of administrative actions as pages, and sends it as CSV.

import { pipeline, Readable } from 'node:stream'
import { stringify } from 'csv-stringify'
import {
  type AuditEntry,
  type AuditFilter,
  auditActions,
  exportAudit,
  isAuditAction,
  listAudit,
} from '../../domain/administrator/audit.ts'
import { type FieldErrors, hasErrors, throwIfErrors } from '../../domain/errors.ts'
import type { Page } from '../../domain/paging/page.ts'
import { findTenants } from '../../domain/tenant/tenant.ts'
import { parseDate } from '../../domain/value/date.ts'
import { parseIdentifier } from '../../domain/value/identifier.ts'
import { statusOf } from '../../http/errors.ts'
import { adminPath } from '../../http/paths.ts'
import { ErrorSummary, Field } from '../components/field.tsx'
import { Timestamp } from '../components/format.tsx'
import { ButtonLink, Layout } from '../components/layout.tsx'
import { loadPage, Pager, pathWith } from '../components/pager.tsx'
import { type Column, Table } from '../components/table.tsx'
import { actorOf, type Handler, sendPage } from '../context.ts'
import { queryParameters, textField } from '../form-body.ts'
import { tokenPath } from '../tokens/parts.tsx'
import { Detail, type TenantNames, tenantIdsIn } from './detail.tsx'

const auditPath = `${adminPath}/audit`

/** Shows the entries that match the filters. */
export const showAudit: Handler = async ({ sql }, request, reply) => {
  const query = queryParameters(request)
  const { values, filter, fieldErrors } = readFilter(query)
  if (hasErrors(fieldErrors)) {
    request.fieldErrors = fieldErrors
    return sendPage(reply.code(statusOf.BAD_USER_INPUT), <AuditPage values={values} />)
  }
  const page = await loadPage(query, window => listAudit(sql, filter, window))
  const tenants = await findTenants(sql, [...new Set(page.rows.flatMap(tenantIdsIn))])
  const names = new Map(tenants.flatMap(tenant => (tenant ? [[tenant.id, tenant.name]] : [])))
  return sendPage(reply, <AuditPage values={values} list={{ page, tenants: names }} />)
}

/** Sends the entries that match the filters as CSV. */
export const sendCsv: Handler = async ({ sql }, request, reply) => {
  const { filter, fieldErrors } = readFilter(queryParameters(request))
  throwIfErrors(fieldErrors)
  const entries = Readable.from(await exportAudit(sql, actorOf(request), filter))
  // Every field is quoted, because a program that splits lines at semicolons could otherwise run the text after a
  // semicolon as a formula.
  const csv = stringify({ header: true, columns: csvColumns, escape_formulas: true, quoted_string: true })
  // Both streams end when an error occurs, or when the client closes the connection.
  pipeline(entries, csv, () => {})
  return reply
    .type('text/csv; charset=utf-8')
    .header('Content-Disposition', `attachment; filename="audit-${new Date().toISOString().slice(0, 10)}.csv"`)
    .send(csv)
}

/** The filters as entered. */
type FilterValues = Record<'actor' | 'action' | 'token' | 'tenant' | 'from' | 'to', string>

function readFilter(query: URLSearchParams): { values: FilterValues; filter: AuditFilter; fieldErrors: FieldErrors } {
  const value = (name: keyof FilterValues) => textField(query, name)
  const [actor, action, from, to] = [value('actor'), value('action'), value('from'), value('to')]
  const values = { actor, action, token: value('token'), tenant: value('tenant'), from, to }
  const filter: AuditFilter = {}
  const fieldErrors: FieldErrors = {}
  if (actor) filter.actor = actor
  if (isAuditAction(action)) filter.action = action
  else if (action) fieldErrors.action = ['Choose an action from the list.']
  for (const [name, part] of [['token', 'tokenId'] as const, ['tenant', 'tenantId'] as const]) {
    if (!values[name]) continue
    const id = parseIdentifier(values[name])
    if (id !== null) filter[part] = id
    else fieldErrors[name] = [`Give the id of a ${name}, a whole number such as 7.`]
  }
  for (const name of ['from', 'to'] as const) {
    if (!values[name]) continue
    filter[name] = values[name]
    if (parseDate(values[name]) === null) fieldErrors[name] = ['Give a day, such as 2026-11-21.']
  }
  if (from && to && !fieldErrors.from && !fieldErrors.to && from > to)
    fieldErrors.to = ['Give a day that is not before the first.']
  return { values, filter, fieldErrors }
}

interface AuditPageProps {
  values: FilterValues
  /** The entries, with the current names of the tenants that they mention; undefined when a filter has an error. */
  list?: { page: Page<AuditEntry>; tenants: TenantNames }
}

function AuditPage({ values, list }: AuditPageProps) {
  const isFiltered = Object.values(values).some(value => value !== '')
  const download = list && (
    <a class="button secondary" href={pathWith(`${auditPath}.csv`, values)} download>
      Download as CSV
    </a>
  )
  return (
    <Layout title="Audit" section="audit" actions={download}>
      <p class="muted">Every administrative action and every export of personal data. Entries cannot be changed.</p>
      <ErrorSummary />
      <Filters values={values} isFiltered={isFiltered} />
      {list && list.page.rows.length > 0 && (
        <Table
          label="Audit entries, newest first"
          class="cards audit"
          columns={auditColumns(list.tenants)}
          rows={list.page.rows}
        />
      )}
      {list?.page.rows.length === 0 && (
        <p class="card empty">{isFiltered ? 'No entry matches all filters.' : 'There are no entries yet.'}</p>
      )}
      {list && <Pager noun="entries" path={auditPath} filters={values} page={list.page} />}
    </Layout>
  )
}

const actionOptions = [
  { value: '', label: 'All' },
  ...Object.entries(auditActions).map(([value, label]) => ({ value, label })),
]

function Filters({ values, isFiltered }: { values: FilterValues; isFiltered: boolean }) {
  const common = (name: keyof FilterValues) => ({ name, value: values[name] })
  return (
    <form class="filters" method="get" action={auditPath} aria-label="Filter the audit">
      <Field {...common('actor')} label="Who" type="search" />
      <Field {...common('action')} label="What" options={actionOptions} />
      <Field {...common('token')} label="Token (id)" />
      <Field {...common('tenant')} label="Tenant (id)" />
      <Field {...common('from')} label="From (UTC)" type="date" />
      <Field {...common('to')} label="To (UTC)" type="date" />
      <div class="actions">
        <button type="submit">Filter</button>
        {isFiltered && <ButtonLink href={auditPath} label="Show all" />}
      </div>
    </form>
  )
}

const csvColumns = [
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

const auditColumns = (tenants: TenantNames): Column<AuditEntry>[] => [
  { heading: 'When', cardLabel: '', cell: ({ at }) => <Timestamp at={at} /> },
  { heading: 'What', rowHeader: true, cell: ({ action }) => auditActions[action] ?? action },
  {
    heading: 'Who, and from where',
    cardLabel: 'Who',
    cell: ({ actor, address }) => (
      <>
        {actor}
        {address && <span class="muted">{` from ${address}`}</span>}
      </>
    ),
  },
  { heading: 'About', cardLabel: '', cell: entry => <Subjects entry={entry} /> },
  { heading: 'Details', cardLabel: '', cell: entry => <Detail entry={entry} tenants={tenants} /> },
]

function Subjects({ entry }: { entry: AuditEntry }) {
  const { tokenId, tokenName, tenantId, tenantName, administratorId, administratorEmail } = entry
  const subjects = [
    { noun: 'Token', id: tokenId, name: tokenName && `${tokenName} (${tokenId})`, path: tokenPath },
    { noun: 'Tenant', id: tenantId, name: tenantName && `${tenantName} (${tenantId})` },
    { noun: 'Administrator', id: administratorId, name: administratorEmail },
  ]
  return (
    <ul>
      {subjects.map(
        ({ noun, id, name, path }) =>
          id !== null && (
            <li>
              <span class="muted">{noun}</span>{' '}
              {name && path ? <a href={path(id)}>{name}</a> : (name ?? `${id}, deleted`)}
            </li>
          ),
      )}
    </ul>
  )
}
