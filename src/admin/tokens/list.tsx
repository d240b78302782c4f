import type { FastifyReply, FastifyRequest } from 'fastify'
import { parseIdentifier } from '../../domain/identifier.ts'
import { isPermission, permissionNames } from '../../domain/permission.ts'
import { listTokens, type TokenFilter, type TokenRecord, tokenStatuses } from '../../domain/token.ts'
import { adminPath } from '../../http/paths.ts'
import { count } from '../components/count.ts'
import { Choice, Field } from '../components/field.tsx'
import { Page, sendPage, type View } from '../components/layout.tsx'
import { Pages } from '../components/pager.tsx'
import { Scroll } from '../components/scroll-region.tsx'
import { Moment } from '../components/timestamp.tsx'
import { viewOf } from '../context.ts'
import { queryOf, textOf } from '../form-body.ts'
import type { AdminContext } from '../index.ts'
import { End, GrantName, LastUse, PermissionName, StatusBadge, tokenPath } from './parts.tsx'

const path = `${adminPath}/tokens`
const pageLength = 50

/** GET /admin/tokens */
export async function showTokens({ sql }: AdminContext, request: FastifyRequest, reply: FastifyReply) {
  const query = queryOf(request)
  const filter = readFilter(query)
  const shown = await loadPage(sql, filter, identifierOf(query, 'before'), identifierOf(query, 'after'))
  return sendPage(reply, <TokenList view={viewOf(request, reply)} filter={filter} {...shown} />)
}

function readFilter(query: URLSearchParams): TokenFilter {
  const [search, tenant] = [textOf(query, 'search'), textOf(query, 'tenant')]
  const status = tokenStatuses.find(name => name === query.get('status'))
  const permission = textOf(query, 'permission')
  return {
    ...(search && { search }),
    ...(status && { status }),
    ...(isPermission(permission) && { permission }),
    ...(tenant && { tenant }),
  }
}

const identifierOf = (query: URLSearchParams, name: string) => parseIdentifier(query.get(name) ?? '') ?? undefined

interface Shown {
  tokens: TokenRecord[]
  hasNewer: boolean
  hasOlder: boolean
}

/** One token more than is shown is asked for: it tells whether there are others. */
async function loadPage(
  sql: AdminContext['sql'],
  filter: TokenFilter,
  before: number | undefined,
  after: number | undefined,
): Promise<Shown> {
  const limit = pageLength + 1
  if (after !== undefined) {
    const tokens = await listTokens(sql, { filter, after, limit })
    if (tokens.length > pageLength) return { tokens: tokens.slice(1), hasNewer: true, hasOlder: true }
    // The newest page is shown whole.
  }
  const tokens = await listTokens(sql, {
    filter,
    limit,
    ...(before !== undefined && after === undefined && { before }),
  })
  return {
    tokens: tokens.slice(0, pageLength),
    hasNewer: before !== undefined && after === undefined,
    hasOlder: tokens.length > pageLength,
  }
}

/** The same filters, at the page before or after a token. */
const linkTo = (filter: TokenFilter, side: 'before' | 'after', token: TokenRecord | undefined) =>
  token ? `${path}?${new URLSearchParams({ ...filter, [side]: String(token.id) })}` : null

function TokenList({ view, filter, tokens, ...more }: { view: View; filter: TokenFilter } & Shown) {
  const filtered = Object.keys(filter).length > 0 || more.hasNewer
  return (
    <Page
      title="Tokens"
      view={view}
      place="tokens"
      actions={
        <a class="button" href={`${path}/new`}>
          Create a token
        </a>
      }
    >
      {tokens.length === 0 && !filtered ? (
        <div class="card empty">
          <p>There are no tokens yet. An integration needs one to ask for anything.</p>
          <a class="button" href={`${path}/new`}>
            Create your first token
          </a>
        </div>
      ) : (
        <>
          <Filters filter={filter} />
          {tokens.length === 0 ? (
            <div class="card empty">
              <p>No token matches.</p>
              <a href={path}>Show all tokens</a>
            </div>
          ) : (
            <TokenTable tokens={tokens} />
          )}
          <Pages
            of="tokens"
            newer={more.hasNewer ? linkTo(filter, 'after', tokens[0]) : null}
            older={more.hasOlder ? linkTo(filter, 'before', tokens.at(-1)) : null}
          />
        </>
      )}
    </Page>
  )
}

function Filters({ filter }: { filter: TokenFilter }) {
  const any = { value: '', label: 'any' }
  const options = (values: readonly string[]) => [any, ...values.map(value => ({ value, label: value }))]
  return (
    <form method="get" action={path} class="filters" aria-label="Find tokens">
      <Field name="search" label="Name, contact, creator or token" type="search" value={filter.search ?? ''} />
      <Choice name="status" label="Status" options={options(tokenStatuses)} value={filter.status ?? ''} />
      <Choice name="permission" label="Permission" options={options(permissionNames)} value={filter.permission ?? ''} />
      <Field name="tenant" label="Reaches tenant (name or id)" type="search" value={filter.tenant ?? ''} />
      <button type="submit" class="plain">
        Filter
      </button>
      {Object.keys(filter).length > 0 && (
        <a class="button plain" href={path}>
          Clear
        </a>
      )}
    </form>
  )
}

function TokenTable({ tokens }: { tokens: TokenRecord[] }) {
  return (
    <Scroll label="Tokens, newest first">
      <table class="cards" aria-label="Tokens, newest first">
        <thead>
          <tr>
            {['Name and contact', 'Token', 'Tenants', 'Permissions', 'Created', 'Last used', 'Status'].map(name => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {tokens.map(token => (
            <TokenRow key={token.id} token={token} />
          ))}
        </tbody>
      </table>
    </Scroll>
  )
}

const mostNames = 3

function TokenRow({ token }: { token: TokenRecord }) {
  const names = token.tenants.slice(0, mostNames)
  const more = token.tenants.length - names.length
  return (
    <tr>
      <th scope="row">
        <a href={tokenPath(token.id)}>{token.name}</a>
        {token.contact && <p class="hint">{token.contact}</p>}
      </th>
      <td data-label="Token">
        <code>{token.hint}</code>
      </td>
      <td data-label="Tenants">
        {names.length === 0 ? (
          <span class="soft">none</span>
        ) : (
          <ul>
            {names.map(grant => (
              <li key={grant.tenantId}>
                <GrantName grant={grant} />
              </li>
            ))}
            {more > 0 && <li class="soft">and {count(more)} more</li>}
          </ul>
        )}
      </td>
      <td data-label="Permissions">
        {token.permissions.length === 0 ? (
          <span class="soft">none</span>
        ) : (
          <ul>
            {token.permissions.map(name => (
              <li key={name}>
                <PermissionName name={name} />
              </li>
            ))}
          </ul>
        )}
      </td>
      <td data-label="Created">
        <Moment at={token.createdAt} /> <span class="soft">by {token.createdBy}</span>
      </td>
      <td data-label="Last used">
        <LastUse token={token} />
      </td>
      <td data-label="Status">
        <StatusBadge token={token} />{' '}
        <span class="soft">
          <End token={token} />
        </span>
      </td>
    </tr>
  )
}
