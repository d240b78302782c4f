// Components and helpers that several pages about tokens share.

import type { FastifyReply } from 'fastify'
import type { AlreadyCreated, CreatedToken } from '../../domain/token/lifecycle.ts'
import { permissions as descriptions, type Permission } from '../../domain/token/permission.ts'
import { getToken, type TokenRecord, type TokenValidity, tokenStatus } from '../../domain/token/token.ts'
import { requireIdentifier } from '../../domain/value/identifier.ts'
import { adminPath, v1Path } from '../../http/paths.ts'
import { TextToCopy } from '../components/copy-button.tsx'
import { Timestamp } from '../components/format.tsx'
import { ButtonLink, Layout, Section } from '../components/layout.tsx'
import { type AdminContext, redirectWithFlash, sendPage } from '../context.ts'

export const tokensPath = `${adminPath}/tokens`

/** Returns the path of a token's page, or of a page below it. */
export const tokenPath = (id: number, page?: 'edit' | 'rotate' | 'revoke' | 'webhooks') =>
  `${tokensPath}/${id}${page ? `/${page}` : ''}`

const opensPersonalData = (permission: Permission) => permission === 'export_customer_information'

/** The name of a permission, with a badge when the permission gives access to personal data. */
export const PermissionName = ({ name }: { name: Permission }) => (
  <>
    <code>{name}</code> {opensPersonalData(name) && <span class="badge warn">personal data</span>}
  </>
)

/** The permissions of a token, each with its description. */
export function PermissionList({ permissions }: { permissions: Permission[] }) {
  if (permissions.length === 0) return <>none: the token may only list its tenants</>
  return (
    <ul class="tree">
      {permissions.map(name => (
        <li>
          <PermissionName name={name} /> <span class="muted">{descriptions[name]}</span>
        </li>
      ))}
    </ul>
  )
}

type Validity = TokenValidity & Pick<TokenRecord, 'rotatedTo' | 'expiresAt'>

const isReplaced = (token: Validity) => tokenStatus(token) === 'active' && token.rotatedTo !== null

const badgeTones = { active: 'good', expired: 'warn', revoked: 'bad' }

/** A badge with the status of a token, or with the end of an active token that was rotated. */
export function StatusBadge({ token }: { token: Validity }) {
  const status = tokenStatus(token)
  if (!isReplaced(token)) return <span class={`badge ${badgeTones[status]}`}>{status}</span>
  const { expiresAt } = token
  return <span class="badge warn">replaced, ends {expiresAt ? <Timestamp at={expiresAt} /> : 'soon'}</span>
}

/** The time at which a token expires or was revoked; nothing when the badge already shows it. */
export function TokenEnd({ token }: { token: Validity }) {
  if (isReplaced(token)) return null
  if (!token.revokedAt && token.sessionEnded) return <>with its session</>
  const end = token.revokedAt ?? token.expiresAt
  if (!end) return <>without end</>
  return (
    <>
      {tokenStatus(token) === 'active' ? 'until' : 'on'} <Timestamp at={end} />
    </>
  )
}

/** The time and the address of the last use of a token. */
export function LastUse({ token }: { token: Pick<TokenRecord, 'lastUsedAt' | 'lastUsedAddress'> }) {
  if (!token.lastUsedAt) return <>never</>
  return (
    <>
      <Timestamp at={token.lastUsedAt} />
      {token.lastUsedAddress && <span class="muted"> from {token.lastUsedAddress}</span>}
    </>
  )
}

/** The name of a tenant that a token is authorised for. */
export const GrantName = ({ grant }: { grant: TokenRecord['tenants'][number] }) => (
  <>
    {grant.name ?? `absent tenant ${grant.tenantId}`}
    {grant.withDescendants && <span class="muted"> and all below</span>}
  </>
)

/** Returns the token whose id is in the path. @throws `NOT_FOUND` */
export const loadToken = ({ sql }: AdminContext, { id }: { id: string }): Promise<TokenRecord> =>
  getToken(sql, requireIdentifier(id, 'token'))

/** The page that is shown instead of a form when the form needs an active token and the token is not active. */
export function InactiveTokenPage({ token, action }: { token: TokenRecord; action: string }) {
  return (
    <Layout title={`${action} ${token.name}`} section="tokens" narrow>
      <p class="warning">This token is not active: it {token.revokedAt ? 'is revoked' : 'has expired'}.</p>
      <p>
        <a href={tokenPath(token.id)}>Back to the token</a>
      </p>
    </Layout>
  )
}

/** Answers with the secret of a new token; redirects to the token when the same form has already created it. */
export function sendSecret(reply: FastifyReply, { id, secret }: CreatedToken | AlreadyCreated): FastifyReply {
  if (secret === null) {
    const message =
      'This form has already created its token. Its secret cannot be shown again: if it is lost, rotate it.'
    return redirectWithFlash(reply, tokenPath(id), message)
  }
  const url = `${reply.request.publicOrigin}${v1Path}/tenants`
  const command = `curl -H 'Accept: application/json' -H 'Authorization: Bearer ${secret}' ${url}`
  return sendPage(
    reply.code(201),
    <Layout title="The token is created" section="tokens" narrow>
      <p class="warning">
        Copy the secret now, and hand it over through a safe channel. It is shown only once, and the service does not
        store it.
      </p>
      <Section id="secret-heading" title="Secret">
        <TextToCopy id="secret" text={secret} />
        <h2>Try it</h2>
        <p class="hint">This lists the tenants that the token reaches.</p>
        <TextToCopy id="curl" text={command} />
      </Section>
      <p>
        <ButtonLink kind="primary" href={tokenPath(id)} label="I have copied it: go to the token" />
      </p>
    </Layout>,
  )
}
