import type { ComponentChildren } from 'preact'
import { isPermission, permissionNames } from '../../domain/permission.ts'
import { listTokens, type TokenFilter, type TokenRecord, tokenStatuses } from '../../domain/token.ts'
import { ButtonLink } from '../components/button-link.tsx'
import { Field } from '../components/field.tsx'
import { formatCount } from '../components/format.ts'
import { Layout } from '../components/layout.tsx'
import { type ListPage, loadPage, Pager } from '../components/pager.tsx'
import { type Column, Table } from '../components/table.tsx'
import { Timestamp } from '../components/timestamp.tsx'
import { type Handler, sendPage } from '../context.ts'
import { queryParameters, textField } from '../form-body.ts'
import { GrantName, LastUse, PermissionName, StatusBadge, TokenEnd, tokenPath, tokensPath } from './parts.tsx'

/** GET /admin/tokens */
export const showTokens: Handler = async ({ sql }, request, reply) => {
  const query = queryParameters(request)
  const filter = readFilter(query)
  const page = await loadPage(query, range => listTokens(sql, { filter, ...range }))
  return sendPage(reply, <TokenList filter={filter} page={page} />)
}

function readFilter(query: URLSearchParams): TokenFilter {
  const [search, tenant] = [textField(query, 'search'), textField(query, 'tenant')]
  const status = tokenStatuses.find(name => name === query.get('status'))
  const permission = textField(query, 'permission')
  return {
    ...(search && { search }),
    ...(status && { status }),
    ...(isPermission(permission) && { permission }),
    ...(tenant && { tenant }),
  }
}

function TokenList({ filter, page }: { filter: TokenFilter; page: ListPage<TokenRecord> }) {
  const isFiltered = Object.keys(filter).length > 0
  const createLink = (label: string) => <ButtonLink kind="primary" href={`${tokensPath}/new`} label={label} />
  return (
    <Layout title="Tokens" section="tokens" actions={createLink('Create a token')}>
      {page.rows.length === 0 && !isFiltered ? (
        <div class="card empty">
          <p>There are no tokens yet. An integration needs one to send requests.</p>
          {createLink('Create your first token')}
        </div>
      ) : (
        <>
          <Filters filter={filter} />
          {page.rows.length === 0 ? (
            <div class="card empty">
              <p>No token matches.</p>
              <a href={tokensPath}>Show all tokens</a>
            </div>
          ) : (
            <Table label="Tokens, newest first" columns={columns} rows={page.rows} />
          )}
          <Pager noun="tokens" path={tokensPath} filters={{ ...filter }} page={page} />
        </>
      )}
    </Layout>
  )
}

function Filters({ filter }: { filter: TokenFilter }) {
  const options = (values: readonly string[]) => [
    { value: '', label: 'any' },
    ...values.map(value => ({ value, label: value })),
  ]
  return (
    <form method="get" action={tokensPath} class="filters" aria-label="Find tokens">
      <Field name="search" label="Name, contact, creator or token" type="search" value={filter.search ?? ''} />
      <Field name="status" label="Status" options={options(tokenStatuses)} value={filter.status ?? ''} />
      <Field name="permission" label="Permission" options={options(permissionNames)} value={filter.permission ?? ''} />
      <Field name="tenant" label="Tenant in reach (name or id)" type="search" value={filter.tenant ?? ''} />
      <button type="submit" class="secondary">
        Filter
      </button>
      {Object.keys(filter).length > 0 && <ButtonLink href={tokensPath} label="Clear" />}
    </form>
  )
}

function NameList({ names }: { names: ComponentChildren[] }) {
  if (names.length === 0) return <span class="muted">none</span>
  return (
    <ul>
      {names.map(name => (
        <li>{name}</li>
      ))}
    </ul>
  )
}

/** How many tenants of a token the list names. */
const maxNames = 3

const columns: Column<TokenRecord>[] = [
  {
    heading: 'Name and contact',
    cell: ({ id, name, contact }) => (
      <>
        <a href={tokenPath(id)}>{name}</a>
        {contact && <p class="hint">{contact}</p>}
      </>
    ),
  },
  { heading: 'Token', cell: ({ hint }) => <code>{hint}</code> },
  {
    heading: 'Tenants',
    cell: ({ tenants }) => {
      const names: ComponentChildren[] = tenants.slice(0, maxNames).map(grant => <GrantName grant={grant} />)
      const more = tenants.length - names.length
      if (more > 0) names.push(<span class="muted">and {formatCount(more)} more</span>)
      return <NameList names={names} />
    },
  },
  {
    heading: 'Permissions',
    cell: ({ permissions }) => <NameList names={permissions.map(name => <PermissionName name={name} />)} />,
  },
  {
    heading: 'Created',
    cell: ({ createdAt, createdBy }) => (
      <>
        <Timestamp at={createdAt} /> <span class="muted">by {createdBy}</span>
      </>
    ),
  },
  { heading: 'Last used', cell: token => <LastUse token={token} /> },
  {
    heading: 'Status',
    cell: token => (
      <>
        <StatusBadge token={token} />{' '}
        <span class="muted">
          <TokenEnd token={token} />
        </span>
      </>
    ),
  },
]
