import { type AuditEntry, auditActions } from '../../domain/audit.ts'
import { adminPath } from '../../http/paths.ts'
import { Scroll } from '../components/scroll-region.tsx'
import { Moment } from '../components/timestamp.tsx'
import { Detail, type TenantNames } from './detail.tsx'

/** Entries of the audit, as a table. */
export function Entries({ entries, tenants }: { entries: AuditEntry[]; tenants: TenantNames }) {
  return (
    <Scroll label="What was done, as a table">
      <table class="cards audit" aria-label="What was done, newest first">
        <thead>
          <tr>
            <th scope="col">When</th>
            <th scope="col">What</th>
            <th scope="col">Who, and from where</th>
            <th scope="col">About</th>
            <th scope="col">In detail</th>
          </tr>
        </thead>
        <tbody>
          {entries.map(entry => (
            <tr key={entry.id}>
              <td>
                <Moment at={entry.at} />
              </td>
              <th scope="row">{auditActions[entry.action] ?? entry.action}</th>
              <td data-label="Who">
                {entry.actor}
                {entry.address && <span class="soft">{` from ${entry.address}`}</span>}
              </td>
              <td>
                <Subjects entry={entry} />
              </td>
              <td>
                <Detail entry={entry} tenants={tenants} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

function Subjects({ entry }: { entry: AuditEntry }) {
  const { tokenId, tokenName, tenantId, tenantName, administratorId, administratorEmail } = entry
  return (
    <ul>
      {tokenId !== null && (
        <li>
          <span class="soft">Token</span>{' '}
          {tokenName === null ? (
            `${tokenId}, which is gone`
          ) : (
            <a href={`${adminPath}/tokens/${tokenId}`}>{`${tokenName} (${tokenId})`}</a>
          )}
        </li>
      )}
      {tenantId !== null && (
        <li>
          <span class="soft">Tenant</span>{' '}
          {tenantName === null ? `${tenantId}, which is gone` : `${tenantName} (${tenantId})`}
        </li>
      )}
      {administratorId !== null && (
        <li>
          <span class="soft">Administrator</span> {administratorEmail ?? `${administratorId}, who is gone`}
        </li>
      )}
    </ul>
  )
}
