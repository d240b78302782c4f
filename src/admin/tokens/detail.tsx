import { listEndpoints } from '../../domain/event/endpoint.ts'
import { type TokenRecord, tokenStatus } from '../../domain/token/token.ts'
import { Facts } from '../../pages/facts.tsx'
import { FoldedList } from '../components/folded-list.tsx'
import { formatCount, Timestamp } from '../components/format.tsx'
import { ButtonLink, Layout, Section } from '../components/layout.tsx'
import { type HandlerById, sendPage } from '../context.ts'
import { Webhooks } from '../webhooks/parts.tsx'
import { Activity, loadActivity } from './activity.tsx'
import { ViewOrdersWarning } from './form.tsx'
import { GrantName, LastUse, loadToken, PermissionList, StatusBadge, tokenPath } from './parts.tsx'

/** GET /admin/tokens/:id */
export const showToken: HandlerById = async (context, request, reply) => {
  const token = await loadToken(context, request.params)
  const [activity, endpoints] = await Promise.all([
    loadActivity(context.sql, token),
    listEndpoints(context.sql, token.id),
  ])
  return sendPage(
    reply,
    <Layout title={token.name} section="tokens" actions={<Actions token={token} />}>
      <ViewOrdersWarning permissions={token.permissions} />
      <About token={token} defaultRate={context.config.rateLimitPerMinute} />
      <Webhooks token={token} endpoints={endpoints} />
      <Activity activity={activity} />
    </Layout>,
  )
}

/** Only an active token can be changed. */
function Actions({ token }: { token: TokenRecord }) {
  if (tokenStatus(token) !== 'active') return null
  return (
    <>
      <ButtonLink href={tokenPath(token.id, 'edit')} label="Edit" />
      {token.rotatedTo === null && <ButtonLink href={tokenPath(token.id, 'rotate')} label="Rotate" />}
      <ButtonLink href={tokenPath(token.id, 'revoke')} label="Revoke" kind="danger" />
    </>
  )
}

function About({ token, defaultRate }: { token: TokenRecord; defaultRate: number }) {
  const { tenants, rateLimit, expiresAt, revokedAt, rotatedFrom, rotatedTo } = token
  const end = token.sessionEnded ? (
    'with the session of the administrator who opened the dashboard'
  ) : expiresAt ? (
    <Timestamp at={expiresAt} />
  ) : (
    'never'
  )
  const facts = {
    Status: <StatusBadge token={token} />,
    Token: <code>{token.hint}</code>,
    Contact: token.contact ?? 'none',
    Tenants: tenants.length === 0 ? 'none' : <FoldedList items={tenants} show={grantList} />,
    Permissions: <PermissionList permissions={token.permissions} />,
    Rate: `${formatCount(rateLimit ?? defaultRate)} operations a minute${rateLimit === null ? ', the default' : ''}`,
    Created: (
      <>
        <Timestamp at={token.createdAt} /> by {token.createdBy}
      </>
    ),
    'Last used': <LastUse token={token} />,
    [tokenStatus(token) === 'expired' ? 'Ended' : 'Ends']: end,
    Revoked: revokedAt && <Timestamp at={revokedAt} />,
    Replaces: rotatedFrom !== null && <TokenLink id={rotatedFrom} />,
    'Replaced by': rotatedTo !== null && <TokenLink id={rotatedTo} />,
  }
  return (
    <Section id="facts" title="About">
      <Facts facts={facts} />
    </Section>
  )
}

const TokenLink = ({ id }: { id: number }) => <a href={tokenPath(id)}>token {id}</a>

const grantList = (grants: TokenRecord['tenants']) => (
  <ul class="tree">
    {grants.map(grant => (
      <li>
        <GrantName grant={grant} /> <span class="muted">({grant.tenantId})</span>
      </li>
    ))}
  </ul>
)
