import { Fragment } from 'preact'
import { z } from 'zod'
import { type AuditEntry, auditActions, isAuditAction } from '../../domain/audit.ts'
import { adminPath } from '../../http/paths.ts'
import { count } from '../components/count.ts'
import { Moment } from '../components/timestamp.tsx'

/** What tenants are called now, by id. */
export type TenantNames = Map<number, string>

const Grants = z.array(z.object({ tenantId: z.number(), withDescendants: z.boolean() }))
type Grant = z.infer<typeof Grants>[number]

const Change = z.strictObject({ from: z.unknown(), to: z.unknown() })

/** @returns the tenants that the entry speaks of in its detail */
export function tenantsIn({ detail }: AuditEntry): number[] {
  const change = Change.safeParse(detail.tenants)
  const lists = change.success ? [change.data.from, change.data.to] : [detail.tenants]
  return lists.flatMap(list => Grants.safeParse(list).data?.map(({ tenantId }) => tenantId) ?? [])
}

/** What the parts of a detail are called, in the order in which they are shown. */
const labels: Record<string, string> = {
  name: 'Name',
  contact: 'Contact',
  tenants: 'Tenants',
  permissions: 'Permissions',
  rateLimit: 'Rate',
  expiresAt: 'Ends',
  rotatedFrom: 'In the place of',
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

/** What changed, in words; whatever is not known is shown as it was put down. */
export function Detail({ entry, tenants }: { entry: AuditEntry; tenants: TenantNames }) {
  const parts = Object.entries(entry.detail).sort(([one], [other]) => placeOf(one) - placeOf(other))
  if (parts.length === 0) return null
  return (
    <ul>
      {parts.map(([key, value]) => {
        const change = Change.safeParse(value)
        return (
          <li key={key}>
            <span class="soft">{labels[key] ?? key}:</span>{' '}
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
  if (name === 'rateLimit') return <>{value === null ? 'the usual rate' : `${String(value)} a minute`}</>
  if (name.toLowerCase().endsWith('at')) {
    if (value === null) return <>never</>
    if (typeof value === 'string' && !Number.isNaN(Date.parse(value))) return <Moment at={value} />
  }
  if (name === 'action' && typeof value === 'string' && isAuditAction(value)) return <>{auditActions[value]}</>
  if ((name === 'successor' || name === 'rotatedFrom') && typeof value === 'number') {
    return <a href={`${adminPath}/tokens/${value}`}>{`token ${value}`}</a>
  }
  if (value === null || value === '') return <>none</>
  return <span class="put-down">{typeof value === 'string' ? value : JSON.stringify(value)}</span>
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
    { what: 'taken away ', names: removed },
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

/** How many names are shown unasked. */
const mostNames = 20

function Names({ names }: { names: string[] }) {
  const folded = names.slice(mostNames)
  return (
    <>
      {names.slice(0, mostNames).join(', ')}
      {folded.length > 0 && (
        <details>
          <summary>and {count(folded.length)} more</summary>
          {folded.join(', ')}
        </details>
      )}
    </>
  )
}

const tenantText = (id: number, tenants: TenantNames) => `${tenants.get(id) ?? 'a tenant that is gone'} (${id})`

const grantText = ({ tenantId, withDescendants }: Grant, tenants: TenantNames) =>
  `${tenantText(tenantId, tenants)}${withDescendants ? ' with all below it' : ''}`
