import type { FastifyReply } from 'fastify'
import type { ComponentChildren } from 'preact'
import { type TokenRecord, tokenStatus } from '../../domain/token.ts'
import { formatCount } from '../components/format.ts'
import { Layout } from '../components/layout.tsx'
import { Timestamp } from '../components/timestamp.tsx'
import { type AdminContext, type RequestById, sendPage } from '../context.ts'
import { Activity, loadActivity } from './activity.tsx'
import { ViewOrdersWarning } from './form.tsx'
import { GrantName, LastUse, PermissionList, StatusBadge, tokenOf, tokenPath } from './parts.tsx'

/** GET /admin/tokens/:id */
export const showToken = (context: AdminContext) => async (request: RequestById, reply: FastifyReply) => {
  const token = await tokenOf(context, request)
  const activity = await loadActivity(context.sql, token)
  return sendPage(
    request,
    reply,
    <Layout title={token.name} section="tokens" actions={<Actions token={token} />}>
      <ViewOrdersWarning permissions={token.permissions} />
      <Facts token={token} defaultRate={context.config.rateLimitPerMinute} />
      <Activity activity={activity} />
    </Layout>,
  )
}

/** Only an active token can be changed. */
function Actions({ token }: { token: TokenRecord }) {
  if (tokenStatus(token) !== 'active') return null
  return (
    <>
      <a class="button secondary" href={tokenPath(token.id, 'edit')}>
        Edit
      </a>
      {token.rotatedTo === null && (
        <a class="button secondary" href={tokenPath(token.id, 'rotate')}>
          Rotate
        </a>
      )}
      <a class="button danger" href={tokenPath(token.id, 'revoke')}>
        Revoke
      </a>
    </>
  )
}

const Fact = ({ name, children }: { name: string; children: ComponentChildren }) => (
  <>
    <dt>{name}</dt>
    <dd>{children}</dd>
  </>
)

function Facts({ token, defaultRate }: { token: TokenRecord; defaultRate: number }) {
  return (
    <section class="card" aria-labelledby="facts">
      <h2 id="facts">About</h2>
      <dl class="facts">
        <Fact name="Status">
          <StatusBadge token={token} />
        </Fact>
        <Fact name="Token">
          <code>{token.hint}</code>
        </Fact>
        <Fact name="Contact">{token.contact ?? 'none'}</Fact>
        <Fact name="Tenants">
          <Grants grants={token.tenants} />
        </Fact>
        <Fact name="Permissions">
          <PermissionList permissions={token.permissions} />
        </Fact>
        <Fact name="Rate">
          {formatCount(token.rateLimit ?? defaultRate)} operations a minute
          {token.rateLimit === null && ', the default'}
        </Fact>
        <Fact name="Created">
          <Timestamp at={token.createdAt} /> by {token.createdBy}
        </Fact>
        <Fact name="Last used">
          <LastUse token={token} />
        </Fact>
        <Fact name={tokenStatus(token) === 'expired' ? 'Ended' : 'Ends'}>
          {token.expiresAt ? <Timestamp at={token.expiresAt} /> : 'never'}
        </Fact>
        {token.revokedAt && (
          <Fact name="Revoked">
            <Timestamp at={token.revokedAt} />
          </Fact>
        )}
        {token.rotatedFrom !== null && (
          <Fact name="Replaces">
            <TokenLink id={token.rotatedFrom} />
          </Fact>
        )}
        {token.rotatedTo !== null && (
          <Fact name="Replaced by">
            <TokenLink id={token.rotatedTo} />
          </Fact>
        )}
      </dl>
    </section>
  )
}

const TokenLink = ({ id }: { id: number }) => <a href={tokenPath(id)}>token {id}</a>

/** How many tenants are shown at once; a click shows the others. */
const maxGrants = 20

function Grants({ grants }: { grants: TokenRecord['tenants'] }) {
  if (grants.length === 0) return <>none</>
  const folded = grants.slice(maxGrants)
  return (
    <>
      <GrantList grants={grants.slice(0, maxGrants)} />
      {folded.length > 0 && (
        <details>
          <summary>and {formatCount(folded.length)} more</summary>
          <GrantList grants={folded} />
        </details>
      )}
    </>
  )
}

const GrantList = ({ grants }: { grants: TokenRecord['tenants'] }) => (
  <ul class="tree">
    {grants.map(grant => (
      <li key={grant.tenantId}>
        <GrantName grant={grant} /> <span class="muted">({grant.tenantId})</span>
      </li>
    ))}
  </ul>
)
