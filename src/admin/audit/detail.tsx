import { Fragment } from 'preact'
import { z } from 'zod'
import { type AuditEntry, auditActions, isAuditAction } from '../../domain/audit.ts'
import { formatCount } from '../components/format.ts'
import { Timestamp } from '../components/timestamp.tsx'
import { tokenPath } from '../tokens/parts.tsx'

/** The current names of tenants, by id. */
export type TenantNames = Map<number, string>

const Grants = z.array(z.object({ tenantId: z.number(), withDescendants: z.boolean() }))
type Grant = z.infer<typeof Grants>[number]

const Change = z.strictObject({ from: z.unknown(), to: z.unknown() })

/** @returns the ids of the tenants that the detail of an entry names */
export function tenantsIn({ detail }: AuditEntry): number[] {
  const change = Change.safeParse(detail.tenants)
  const lists = change.success ? [change.data.from, change.data.to] : [detail.tenants]
  return lists.flatMap(list => Grants.safeParse(list).data?.map(({ tenantId }) => tenantId) ?? [])
}

/** The labels of the parts of a detail, in the order in which they are shown. */
const labels: Record<string, string> = {
  name: 'Name',
  contact: 'Contact',
  tenants: 'Tenants',
  permissions: 'Permissions',
  rateLimit: 'Rate',
  expiresAt: 'Ends',
  rotatedFrom: 'Replaces',
  successor: 'New token',
  endsAt: 'The old one ends',
  successorExpiresAt: 'The new one ends',
  records: 'Records',
  operation: 'Read as',
  requestId: 'Request',
  email: 'E-mail',
  subject: 'At the provider',
  reason: 'Why',
  means: 'With',
  sessions: 'Sessions ended',
  actor: 'Who',
  action: 'What',
  tokenId: 'Token',
  tenantId: 'Tenant',
  from: 'From',
  to: 'To',
}

const order = Object.keys(labels)
const placeOf = (key: string) => (order.includes(key) ? order.indexOf(key) : order.length)

/** What an action changed, in words; a part without a label is shown as it is stored. */
export function Detail({ entry, tenants }: { entry: AuditEntry; tenants: TenantNames }) {
  const parts = Object.entries(entry.detail).sort(([one], [other]) => placeOf(one) - placeOf(other))
  if (parts.length === 0) return null
  return (
    <ul>
      {parts.map(([key, value]) => {
        const change = Change.safeParse(value)
        return (
          <li key={key}>
            <span class="muted">{labels[key] ?? key}:</span>{' '}
            {change.success ? (
              <Changed name={key} {...change.data} tenants={tenants} />
            ) : (
              <Value name={key} value={value} tenants={tenants} />
            )}
          </li>
        )
      })}
    </ul>
  )
}

function Value({ name, value, tenants }: { name: string; value: unknown; tenants: TenantNames }) {
  const words = z.array(z.string()).safeParse(value)
  const grants = Grants.safeParse(value)
  if (name === 'permissions' && words.success) return <>{words.data.join(', ') || 'none'}</>
  if (name === 'tenants' && grants.success) {
    if (grants.data.length === 0) return <>none</>
    return <Names names={grants.data.map(grant => grantText(grant, tenants))} />
  }
  if (name === 'rateLimit') return <>{value === null ? 'the default rate' : `${String(value)} a minute`}</>
  if (name.toLowerCase().endsWith('at')) {
    if (value === null) return <>never</>
    if (typeof value === 'string' && !Number.isNaN(Date.parse(value))) return <Timestamp at={value} />
  }
  if (name === 'action' && typeof value === 'string' && isAuditAction(value)) return <>{auditActions[value]}</>
  if ((name === 'successor' || name === 'rotatedFrom') && typeof value === 'number') {
    return <a href={tokenPath(value)}>{`token ${value}`}</a>
  }
  if (value === null || value === '') return <>none</>
  return <span class="stored-value">{typeof value === 'string' ? value : JSON.stringify(value)}</span>
}

function Changed({ name, from, to, tenants }: { name: string; from: unknown; to: unknown; tenants: TenantNames }) {
  if (name === 'permissions') {
    const [before, after] = [z.array(z.string()).safeParse(from), z.array(z.string()).safeParse(to)]
    if (before.success && after.success) {
      return (
        <Differences
          added={after.data.filter(word => !before.data.includes(word))}
          removed={before.data.filter(word => !after.data.includes(word))}
        />
      )
    }
  }
  if (name === 'tenants') {
    const [before, after] = [Grants.safeParse(from), Grants.safeParse(to)]
    if (before.success && after.success) return <GrantsChanged from={before.data} to={after.data} tenants={tenants} />
  }
  return (
    <>
      <Value name={name} value={from} tenants={tenants} /> became <Value name={name} value={to} tenants={tenants} />
    </>
  )
}

function GrantsChanged({ from, to, tenants }: { from: Grant[]; to: Grant[]; tenants: TenantNames }) {
  const before = new Map(from.map(grant => [grant.tenantId, grant.withDescendants]))
  const after = new Set(to.map(grant => grant.tenantId))
  const changed = to.filter(grant => before.get(grant.tenantId) === !grant.withDescendants)
  return (
    <Differences
      added={to.filter(grant => !before.has(grant.tenantId)).map(grant => grantText(grant, tenants))}
      removed={from.filter(grant => !after.has(grant.tenantId)).map(grant => grantText(grant, tenants))}
      changed={changed.map(
        ({ tenantId, withDescendants }) =>
          `${tenantText(tenantId, tenants)} ${withDescendants ? 'now' : 'no longer'} with all below it`,
      )}
    />
  )
}

function Differences({ added, removed, changed = [] }: { added: string[]; removed: string[]; changed?: string[] }) {
  const parts = [
    { what: 'added ', names: added },
    { what: 'removed ', names: removed },
    { what: '', names: changed },
  ].filter(({ names }) => names.length > 0)
  return (
    <>
      {parts.map(({ what, names }, index) => (
        <Fragment key={what}>
          {index > 0 && '; '}
          {what}
          <Names names={names} />
        </Fragment>
      ))}
    </>
  )
}

/** How many names are shown at once; a click shows the others. */
const maxNames = 20

function Names({ names }: { names: string[] }) {
  const folded = names.slice(maxNames)
  return (
    <>
      {names.slice(0, maxNames).join(', ')}
      {folded.length > 0 && (
        <details>
          <summary>and {formatCount(folded.length)} more</summary>
          {folded.join(', ')}
        </details>
      )}
    </>
  )
}

const tenantText = (id: number, tenants: TenantNames) => `${tenants.get(id) ?? 'a deleted tenant'} (${id})`

const grantText = ({ tenantId, withDescendants }: Grant, tenants: TenantNames) =>
  `${tenantText(tenantId, tenants)}${withDescendants ? ' with all below it' : ''}`
