import type { FastifyReply } from 'fastify'
import { type TokenRecord, tokenStatus } from '../../domain/token.ts'
import { count } from '../components/count.ts'
import { Page, sendPage } from '../components/layout.tsx'
import { Moment } from '../components/timestamp.tsx'
import { viewOf } from '../context.ts'
import type { AdminContext } from '../index.ts'
import { Activity, loadActivity } from './activity.tsx'
import { OrdersWarning } from './form.tsx'
import { GrantName, LastUse, PermissionList, StatusBadge, type TokenRequest, tokenOf, tokenPath } from './parts.tsx'

/** GET /admin/tokens/:id */
export async function showToken(parts: AdminContext, request: TokenRequest, reply: FastifyReply) {
  const token = await tokenOf(parts, request)
  const activity = await loadActivity(parts.sql, token)
  return sendPage(
    reply,
    <Page title={token.name} view={viewOf(request, reply)} place="tokens" actions={<Actions token={token} />}>
      <OrdersWarning permissions={token.permissions} />
      <Facts token={token} defaultRate={parts.config.rateLimitPerMinute} />
      <Activity activity={activity} />
    </Page>,
  )
}

/** A token that no longer holds is beyond all of them. */
function Actions({ token }: { token: TokenRecord }) {
  if (tokenStatus(token) !== 'active') return null
  return (
    <>
      <a class="button plain" href={tokenPath(token.id, 'edit')}>
        Edit
      </a>
      {token.rotatedTo === null && (
        <a class="button plain" href={tokenPath(token.id, 'rotate')}>
          Rotate
        </a>
      )}
      <a class="button danger" href={tokenPath(token.id, 'revoke')}>
        Revoke
      </a>
    </>
  )
}

function Facts({ token, defaultRate }: { token: TokenRecord; defaultRate: number }) {
  return (
    <section class="card" aria-labelledby="facts">
      <h2 id="facts">About</h2>
      <dl class="facts">
        <dt>Status</dt>
        <dd>
          <StatusBadge token={token} />
        </dd>
        <dt>Token</dt>
        <dd>
          <code>{token.hint}</code>
        </dd>
        <dt>Contact</dt>
        <dd>{token.contact ?? 'none'}</dd>
        <dt>Tenants</dt>
        <dd>
          <Grants grants={token.tenants} />
        </dd>
        <dt>Permissions</dt>
        <dd>
          <PermissionList permissions={token.permissions} />
        </dd>
        <dt>Rate</dt>
        <dd>
          {count(token.rateLimit ?? defaultRate)} operations a minute
          {token.rateLimit === null && ', the default'}
        </dd>
        <dt>Created</dt>
        <dd>
          <Moment at={token.createdAt} /> by {token.createdBy}
        </dd>
        <dt>Last used</dt>
        <dd>
          <LastUse token={token} />
        </dd>
        <dt>{tokenStatus(token) === 'expired' ? 'Ended' : 'Ends'}</dt>
        <dd>{token.expiresAt ? <Moment at={token.expiresAt} /> : 'never'}</dd>
        {token.revokedAt && (
          <>
            <dt>Revoked</dt>
            <dd>
              <Moment at={token.revokedAt} />
            </dd>
          </>
        )}
        {token.rotatedFrom !== null && (
          <>
            <dt>Took the place of</dt>
            <dd>
              <a href={tokenPath(token.rotatedFrom)}>token {token.rotatedFrom}</a>
            </dd>
          </>
        )}
        {token.rotatedTo !== null && (
          <>
            <dt>Replaced by</dt>
            <dd>
              <a href={tokenPath(token.rotatedTo)}>token {token.rotatedTo}</a>
            </dd>
          </>
        )}
      </dl>
    </section>
  )
}

/** How many are shown at once; the others are folded away. */
const mostGrants = 20

function Grants({ grants }: { grants: TokenRecord['tenants'] }) {
  if (grants.length === 0) return <>none</>
  const folded = grants.slice(mostGrants)
  return (
    <>
      <GrantNames grants={grants.slice(0, mostGrants)} />
      {folded.length > 0 && (
        <details>
          <summary>and {count(folded.length)} more</summary>
          <GrantNames grants={folded} />
        </details>
      )}
    </>
  )
}

const GrantNames = ({ grants }: { grants: TokenRecord['tenants'] }) => (
  <ul class="tree">
    {grants.map(grant => (
      <li key={grant.tenantId}>
        <GrantName grant={grant} /> <span class="soft">({grant.tenantId})</span>
      </li>
    ))}
  </ul>
)
