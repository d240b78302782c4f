import type { Client } from '../../support/app.ts'
import type { PageArguments } from '../../support/graphql.ts'

/** The tenant, the list and the arguments of a query. */
export interface Asked {
  tenantId: number
  /** The default is the list of vouchers. */
  list?: 'purchasedVouchers' | 'catalogVouchers' | 'marketingSignups'
  filter?: object
  orderBy?: { field: string; direction?: 'ASC' | 'DESC' }
  withDescendants?: boolean
  updatedSince?: string
}

/** Requests a page. @returns the GraphQL answer */
export async function ask(client: Client, secret: string, asked: Asked, page: PageArguments = {}, node = 'databaseId') {
  const { tenantId, list = 'purchasedVouchers', ...args } = asked
  const type = list.replace(/^./, first => first.toUpperCase()).slice(0, -1)
  const query = `query ($tenant: ID!, $filter: ${type}Filter, $orderBy: ${type}Order, $withDescendants: Boolean,
      $updatedSince: DateTime, $first: Int, $last: Int, $after: String, $before: String) {
    tenant(id: $tenant) {
      list: ${list}(filter: $filter, orderBy: $orderBy, withDescendants: $withDescendants, updatedSince: $updatedSince,
          first: $first, last: $last, after: $after, before: $before) {
        count { count precision } serverTime nextCursor
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
        edges { cursor node { ${node} } }
      }
    }
  }`
  return (await client.graphql(secret, query, { tenant: tenantId, ...args, ...page })).body
}

/** Requests a page, which must succeed. @returns the list */
export async function list(client: Client, secret: string, asked: Asked, page: PageArguments = {}, node?: string) {
  const { data, errors } = await ask(client, secret, asked, page, node)
  if (errors) throw new Error(JSON.stringify(errors))
  return data.tenant.list
}

export const idsOf = (found: { edges: { node: { databaseId: number } }[] }) =>
  found.edges.map(edge => edge.node.databaseId)
