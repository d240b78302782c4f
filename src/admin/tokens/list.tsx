import type { ComponentChildren } from 'preact'
import type { Page, RowWindow } from '../../domain/paging/page.ts'
import {
  countTokensInNeed,
  isTokenOrder,
  listTokens,
  type TokenListing,
  type TokenOrder,
  tokenStates,
} from '../../domain/token/list.ts'
import { isPermission, permissionNames } from '../../domain/token/permission.ts'
import type { TokenRecord } from '../../domain/token/token.ts'
import { Field } from '../components/field.tsx'
import { formatCount, Timestamp } from '../components/format.tsx'
import { ButtonLink, Layout } from '../components/layout.tsx'
import { loadPage, Pager, pathWith } from '../components/pager.tsx'
import { type Column, Table } from '../components/table.tsx'
import { type Handler, sendPage } from '../context.ts'
import { queryParameters, textField } from '../form-body.ts'
import { GrantName, LastUse, PermissionName, StatusBadge, TokenEnd, tokenPath, tokensPath } from './parts.tsx'

/** The filter and the order that the query of the URL selects. */
type View = Required<Omit<TokenListing, keyof RowWindow>>

/** GET /admin/tokens */
export const showTokens: Handler = async ({ sql }, request, reply) => {
  const query = queryParameters(request)
  const view = readView(query)
  const [page, inNeed] = await Promise.all([
    loadPage(query, window => listTokens(sql, { ...view, ...window })),
    countTokensInNeed(sql),
  ])
  return sendPage(reply, <TokenList view={view} page={page} inNeed={inNeed} />)
}

/** The value of `status` that lists tokens of every state. Without the parameter, the list has the active tokens. */
const anyState = 'any'

function readView(query: URLSearchParams): View {
  const [search, tenant] = [textField(query, 'search'), textField(query, 'tenant')]
  const given = query.get('status')
  const state = tokenStates.find(name => name === given) ?? (given === anyState ? undefined : 'active')
  const permission = textField(query, 'permission')
  const sort = textField(query, 'sort')
  const order = sort.replace('-', '')
  const filter = {
    ...(search && { search }),
    ...(state && { state }),
    ...(isPermission(permission) && { permission }),
    ...(tenant && { tenant }),
  }
  return isTokenOrder(order)
    ? { filter, order, ascending: !sort.startsWith('-') }
    : { filter, order: 'created', ascending: false }
}

function parametersOf({ filter, order, ascending }: View): Record<string, string> {
  const { state = anyState, ...others } = filter
  const isNewestFirst = order === 'created' && !ascending
  return {
    ...others,
    status: state === 'active' ? '' : state,
    sort: isNewestFirst ? '' : (ascending ? '' : '-') + order,
  }
}

/** Returns whether a view has no filter, so that it lists all active tokens. */
const isUnfiltered = ({ filter }: View) => Object.keys(filter).join() === 'state' && filter.state === 'active'

function TokenList({ view, page, inNeed }: { view: View; page: Page<TokenRecord>; inNeed: TokenCounts }) {
  const createLink = (label: string) => <ButtonLink kind="primary" href={`${tokensPath}/new`} label={label} />
  return (
    <Layout title="Tokens" section="tokens" actions={createLink('Create a token')}>
      <UnusedAndExpiringTokens {...inNeed} />
      <Filters view={view} />
      {page.rows.length === 0 ? (
        <div class="card empty">
          {isUnfiltered(view) ? (
            <>
              <p>There are no active tokens. An integration needs one to send requests.</p>
              {createLink('Create a token')} <a href={`${tokensPath}?status=${anyState}`}>Show ended tokens</a>
            </>
          ) : (
            <>
              <p>No token matches.</p>
              <a href={tokensPath}>Show all active tokens</a>
            </>
          )}
        </div>
      ) : (
        <Table label="Tokens" columns={columns.map(column => createSortableColumn(column, view))} rows={page.rows} />
      )}
      <Pager noun="tokens" path={tokensPath} filters={parametersOf(view)} page={page} />
    </Layout>
  )
}

type TokenCounts = Awaited<ReturnType<typeof countTokensInNeed>>

/** Links to the tokens that were never used, and to the tokens that end soon; no link to an empty list. */
function UnusedAndExpiringTokens({ unused, expiring }: TokenCounts) {
  if (unused === 0 && expiring === 0) return null
  const tokens = (count: number) => `${formatCount(count)} ${count === 1 ? 'token' : 'tokens'}`
  return (
    <ul class="notices">
      {expiring > 0 && (
        <li>
          <a href={`${tokensPath}?status=expiring&sort=ends`}>{tokens(expiring)} will expire within 14 days</a>
        </li>
      )}
      {unused > 0 && (
        <li>
          <a href={`${tokensPath}?status=unused`}>{tokens(unused)} never used</a>
        </li>
      )}
    </ul>
  )
}

/** Returns the column with a link that orders the list by it, or reverses the order when the list has it. */
function createSortableColumn({ order, ...column }: SortedColumn, view: View): Column<TokenRecord> {
  const isCurrent = order === view.order
  // The first click orders texts from A to Z, times from the latest, and amounts from the largest.
  const startsAscending = order === 'name' || order === 'token' || order === 'ends'
  const ascending = isCurrent ? !view.ascending : startsAscending
  const href = pathWith(tokensPath, parametersOf({ ...view, order, ascending }))
  return { ...column, sort: { href, direction: isCurrent ? (view.ascending ? 'ascending' : 'descending') : undefined } }
}

const stateLabels: Record<(typeof tokenStates)[number], string> = {
  active: 'active',
  unused: 'active, never used',
  expiring: 'active, expires within 14 days',
  expired: 'expired',
  revoked: 'revoked',
}

function Filters({ view }: { view: View }) {
  const { filter } = view
  const states = tokenStates.map(value => ({ value, label: stateLabels[value] }))
  const permissionOptions = permissionNames.map(value => ({ value, label: value }))
  const any = { label: 'any' }
  return (
    <form method="get" action={tokensPath} class="filters" aria-label="Find tokens">
      <Field name="search" label="Name, contact, creator or token" type="search" value={filter.search ?? ''} />
      <Field
        name="status"
        label="Status"
        options={[...states, { ...any, value: anyState }]}
        value={filter.state ?? anyState}
      />
      <Field
        name="permission"
        label="Permission"
        options={[{ ...any, value: '' }, ...permissionOptions]}
        value={filter.permission ?? ''}
      />
      <Field name="tenant" label="Tenant in reach (name or id)" type="search" value={filter.tenant ?? ''} />
      <input type="hidden" name="sort" value={parametersOf(view).sort} />
      <button type="submit" class="secondary">
        Filter
      </button>
      {!isUnfiltered(view) && <ButtonLink href={tokensPath} label="Clear" />}
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

/** The maximum number of tenants of a token that the list names. */
const maxNames = 3

/** A column with the order that a click on its heading selects. */
type SortedColumn = Column<TokenRecord> & { order: TokenOrder }

const columns: SortedColumn[] = [
  {
    heading: 'Name and contact',
    order: 'name',
    cell: ({ id, name, contact }) => (
      <>
        <a href={tokenPath(id)}>{name}</a>
        {contact && <p class="hint">{contact}</p>}
      </>
    ),
  },
  { heading: 'Token', order: 'token', cell: ({ hint }) => <code>{hint}</code> },
  {
    heading: 'Tenants',
    order: 'tenants',
    cell: ({ tenants }) => {
      const names: ComponentChildren[] = tenants.slice(0, maxNames).map(grant => <GrantName grant={grant} />)
      const more = tenants.length - names.length
      if (more > 0) names.push(<span class="muted">and {formatCount(more)} more</span>)
      return <NameList names={names} />
    },
  },
  {
    heading: 'Permissions',
    order: 'permissions',
    cell: ({ permissions }) => <NameList names={permissions.map(name => <PermissionName name={name} />)} />,
  },
  {
    heading: 'Created',
    order: 'created',
    cell: ({ createdAt, createdBy }) => (
      <>
        <Timestamp at={createdAt} /> <span class="muted">by {createdBy}</span>
      </>
    ),
  },
  { heading: 'Last used', order: 'used', cell: token => <LastUse token={token} /> },
  {
    heading: 'Status',
    order: 'ends',
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
