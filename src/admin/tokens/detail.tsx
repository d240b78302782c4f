import { type TokenRecord, tokenStatus } from '../../domain/token/token.ts'
import { FoldedList } from '../components/folded-list.tsx'
import { formatCount, Timestamp } from '../components/format.tsx'
import { ButtonLink, Layout, Section } from '../components/layout.tsx'
import { type HandlerById, sendPage } from '../context.ts'
import { Activity, loadActivity } from './activity.tsx'
import { ViewOrdersWarning } from './form.tsx'
import { Fact, GrantName, LastUse, PermissionList, StatusBadge, tokenOf, tokenPath } from './parts.tsx'

/** GET /admin/tokens/:id */
export const showToken: HandlerById = async (context, request, reply) => {
  const token = await tokenOf(context, request.params)
  const activity = await loadActivity(context.sql, token)
  return sendPage(
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
      <ButtonLink href={tokenPath(token.id, 'edit')} label="Edit" />
      {token.rotatedTo === null && <ButtonLink href={tokenPath(token.id, 'rotate')} label="Rotate" />}
      <ButtonLink href={tokenPath(token.id, 'revoke')} label="Revoke" kind="danger" />
    </>
  )
}

function Facts({ token, defaultRate }: { token: TokenRecord; defaultRate: number }) {
  return (
    <Section id="facts" title="About">
      <dl class="facts">
        <Fact name="Status">
          <StatusBadge token={token} />
        </Fact>
        <Fact name="Token">
          <code>{token.hint}</code>
        </Fact>
        <Fact name="Contact">{token.contact ?? 'none'}</Fact>
        <Fact name="Tenants">
          {token.tenants.length === 0 ? 'none' : <FoldedList items={token.tenants} show={grantList} />}
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
          {token.sessionEnded ? (
            'with the session of the administrator who opened the dashboard'
          ) : token.expiresAt ? (
            <Timestamp at={token.expiresAt} />
          ) : (
            'never'
          )}
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
