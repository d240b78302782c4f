import { type AuditEntry, auditActions } from '../../domain/administrator/audit.ts'
import { type Column, Table } from '../components/table.tsx'
import { Timestamp } from '../components/timestamp.tsx'
import { tokenPath } from '../tokens/parts.tsx'
import { Detail, type TenantNames } from './detail.tsx'

/** A table of audit entries. */
export const EntryTable = ({ entries, tenants }: { entries: AuditEntry[]; tenants: TenantNames }) => (
  <Table label="Audit entries, newest first" class="cards audit" columns={columns(tenants)} rows={entries} />
)

const columns = (tenants: TenantNames): Column<AuditEntry>[] => [
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

/** The token, tenant and administrator that an entry is about. */
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
