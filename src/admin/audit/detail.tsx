import { z } from 'zod'
import { type AuditEntry, auditActions, isAuditAction } from '../../domain/administrator/audit.ts'
import { FoldedList } from '../components/folded-list.tsx'
import { Timestamp } from '../components/format.tsx'
import { tokenPath } from '../tokens/parts.tsx'

export type TenantNames = Map<number, string>

const Grants = z.array(z.object({ tenantId: z.number(), withDescendants: z.boolean() }))

const Change = z.strictObject({ from: z.unknown(), to: z.unknown() })

/** Returns the ids of the tenants that the detail of an entry names. */
export function tenantIdsIn({ detail }: AuditEntry): number[] {
  const change = Change.safeParse(detail.tenants)
  const lists = change.success ? [change.data.from, change.data.to] : [detail.tenants]
  return lists.flatMap(list => Grants.safeParse(list).data?.map(({ tenantId }) => tenantId) ?? [])
}

/** The labels of the properties in an entry's detail. The page shows the properties in this order. */
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
  endpoint: 'Webhook',
  url: 'URL',
  status: 'Answer',
  error: 'Error',
  records: 'Records at first',
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

const shownOrder = Object.keys(labels)
const placeOf = (key: string) => (shownOrder.includes(key) ? shownOrder.indexOf(key) : shownOrder.length)

/** Shows the changes of an action in words. A property without a label is shown under its stored name. */
export function Detail({ entry, tenants }: { entry: AuditEntry; tenants: TenantNames }) {
  const parts = Object.entries(entry.detail).sort(([one], [other]) => placeOf(one) - placeOf(other))
  if (parts.length === 0) return null
  return (
    <ul>
      {parts.map(([name, value]) => {
        const change = Change.safeParse(value).data
        const show = change ? (
          <ChangedValue {...{ name, tenants, ...change }} />
        ) : (
          <Value {...{ name, tenants, value }} />
        )
        return (
          <li>
            <span class="muted">{labels[name] ?? name}:</span> {show}
          </li>
        )
      })}
    </ul>
  )
}

/** A permission or a granted tenant, as one item of a list. */
interface Item {
  id: string | number
  label: string
  withDescendants: boolean
}

/** Returns the items when the value is a list of permissions or of tenants, and otherwise null. */
function itemsOf(name: string, value: unknown, tenants: TenantNames): Item[] | null {
  if (name === 'permissions') {
    const words = z.array(z.string()).safeParse(value).data
    return words?.map(word => ({ id: word, label: word, withDescendants: false })) ?? null
  }
  const grants = name === 'tenants' ? Grants.safeParse(value).data : undefined
  const label = (id: number) => `${tenants.get(id) ?? 'a deleted tenant'} (${id})`
  return grants?.map(({ tenantId, ...grant }) => ({ id: tenantId, label: label(tenantId), ...grant })) ?? null
}

interface ValueProps {
  name: string
  value: unknown
  tenants: TenantNames
}

function Value({ name, value, tenants }: ValueProps) {
  const items = itemsOf(name, value, tenants)
  if (items) return items.length > 0 ? <Names names={items.map(textOf)} /> : <>none</>
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

function ChangedValue({ name, from, to, tenants }: Omit<ValueProps, 'value'> & z.infer<typeof Change>) {
  const [before, after] = [itemsOf(name, from, tenants), itemsOf(name, to, tenants)]
  if (before && after) return <Differences before={before} after={after} />
  return (
    <>
      <Value name={name} value={from} tenants={tenants} /> became <Value name={name} value={to} tenants={tenants} />
    </>
  )
}

function Differences({ before, after }: { before: Item[]; after: Item[] }) {
  const reachBefore = new Map(before.map(({ id, withDescendants }) => [id, withDescendants]))
  const idsAfter = new Set(after.map(({ id }) => id))
  const changed = after.filter(({ id, withDescendants }) => reachBefore.get(id) === !withDescendants)
  const parts = [
    { what: 'added ', names: after.filter(({ id }) => !reachBefore.has(id)).map(textOf) },
    { what: 'removed ', names: before.filter(({ id }) => !idsAfter.has(id)).map(textOf) },
    {
      what: '',
      names: changed.map(item => `${item.label} ${item.withDescendants ? 'now' : 'no longer'} ${withAllBelow}`),
    },
  ].filter(({ names }) => names.length > 0)
  return (
    <>
      {parts.map(({ what, names }, index) => (
        <>
          {index > 0 && '; '}
          {what}
          <Names names={names} />
        </>
      ))}
    </>
  )
}

const withAllBelow = 'with all below it'

const textOf = ({ label, withDescendants }: Item) => (withDescendants ? `${label} ${withAllBelow}` : label)

const Names = ({ names }: { names: string[] }) => <FoldedList items={names} show={shown => shown.join(', ')} />
