import type { FastifyRequest } from 'fastify'
import { requireIdentifier } from '../../domain/identifier.ts'
import { type Permission, permissions as sentences } from '../../domain/permission.ts'
import { getToken, type TokenRecord, tokenStatus } from '../../domain/token.ts'
import { adminPath } from '../../http/paths.ts'
import { Page, type View } from '../components/layout.tsx'
import { Moment } from '../components/timestamp.tsx'
import type { AdminContext } from '../index.ts'

/** The path of a token's page, or of one of the pages below it. */
export const tokenPath = (id: number, page?: 'edit' | 'rotate' | 'revoke') =>
  `${adminPath}/tokens/${id}${page ? `/${page}` : ''}`

const isPersonal = (permission: Permission) => permission === 'export_customer_information'

/** A permission's name, marked when it opens personal data. */
export const PermissionName = ({ name }: { name: Permission }) => (
  <>
    <code>{name}</code> {isPersonal(name) && <span class="badge personal">personal data</span>}
  </>
)

/** The permissions of a token, each with what it opens. */
export function PermissionList({ permissions }: { permissions: Permission[] }) {
  if (permissions.length === 0) return <>none: it may list its tenants, and no more</>
  return (
    <ul class="tree">
      {permissions.map(name => (
        <li key={name}>
          <PermissionName name={name} /> <span class="soft">{sentences[name]}</span>
        </li>
      ))}
    </ul>
  )
}

/** Whether a token holds; of one whose place is taken, until when. */
export function StatusBadge({ token }: { token: Pick<TokenRecord, 'revokedAt' | 'expiresAt' | 'rotatedTo'> }) {
  const status = tokenStatus(token)
  if (status === 'active' && token.rotatedTo !== null) {
    return <span class="badge ending">replaced, ends {token.expiresAt ? <Moment at={token.expiresAt} /> : 'soon'}</span>
  }
  return <span class={`badge ${status}`}>{status}</span>
}

/** When a token ends or ended, after its status; of one whose place is taken the badge says it. */
export function End({ token }: { token: Pick<TokenRecord, 'revokedAt' | 'expiresAt' | 'rotatedTo'> }) {
  const status = tokenStatus(token)
  if (status === 'active' && token.rotatedTo !== null) return null
  const end = token.revokedAt ?? token.expiresAt
  if (!end) return <>without end</>
  return (
    <>
      {status === 'active' ? 'until' : 'on'} <Moment at={end} />
    </>
  )
}

/** When and from where a token was last used. */
export function LastUse({ token }: { token: Pick<TokenRecord, 'lastUsedAt' | 'lastUsedAddress'> }) {
  if (!token.lastUsedAt) return <>never</>
  return (
    <>
      <Moment at={token.lastUsedAt} />
      {token.lastUsedAddress && <span class="soft"> from {token.lastUsedAddress}</span>}
    </>
  )
}

type Grant = TokenRecord['tenants'][number]

export const GrantName = ({ grant }: { grant: Grant }) => (
  <>
    {grant.name}
    {grant.withDescendants && <span class="soft"> and all below</span>}
  </>
)

/** A request for one token, by the id in its path. */
export type TokenRequest = FastifyRequest<{ Params: { id: string } }>

/** @throws `NOT_FOUND` */
export const tokenOf = ({ sql }: AdminContext, { params }: TokenRequest): Promise<TokenRecord> =>
  getToken(sql, requireIdentifier(params.id, 'token'))

/** In place of what can only be done to a token that holds. */
export function NoLonger({ view, token, title }: { view: View; token: TokenRecord; title: string }) {
  return (
    <Page title={`${title} ${token.name}`} view={view} place="tokens" narrow>
      <p class="warning">This token no longer holds: it {token.revokedAt ? 'is revoked' : 'has expired'}.</p>
      <p>
        <a href={tokenPath(token.id)}>Back to the token</a>
      </p>
    </Page>
  )
}
