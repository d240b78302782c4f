import { type AuditEntry, auditActions } from '../../domain/audit.ts'
import { type Column, Table } from '../components/table.tsx'
import { Timestamp } from '../components/timestamp.tsx'
import { tokenPath } from '../tokens/parts.tsx'
import { Detail, type TenantNames } from './detail.tsx'

/** A table of audit entries. */
export const EntryTable = ({ entries, tenants }: { entries: AuditEntry[]; tenants: TenantNames }) => (
  <Table
    label="Audit entries, newest first"
    class="cards audit"
    columns={columns(tenants)}
    rows={entries}
    rowKey={({ id }) => id}
  />
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
  return (
    <ul>
      {tokenId !== null && (
        <li>
          <span class="muted">Token</span>{' '}
          {tokenName === null ? `${tokenId}, deleted` : <a href={tokenPath(tokenId)}>{`${tokenName} (${tokenId})`}</a>}
        </li>
      )}
      {tenantId !== null && (
        <li>
          <span class="muted">Tenant</span>{' '}
          {tenantName === null ? `${tenantId}, deleted` : `${tenantName} (${tenantId})`}
        </li>
      )}
      {administratorId !== null && (
        <li>
          <span class="muted">Administrator</span> {administratorEmail ?? `${administratorId}, deleted`}
        </li>
      )}
    </ul>
  )
}
