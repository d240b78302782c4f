import { expect } from 'vitest'
import { Random } from '../../../packages/demo/src/random.ts'
import type { Client } from '../../support/app.ts'
import { type PageArguments, readPages } from '../../support/graphql.ts'

/** A list and the arguments of its query. */
export interface Asked {
  tenantId: number
  list: 'purchasedVouchers' | 'catalogVouchers' | 'marketingSignups'
  filter?: object
  orderBy?: { field: string; direction?: 'ASC' | 'DESC' }
  withDescendants?: boolean
  updatedSince?: string
}

const types = {
  purchasedVouchers: 'PurchasedVoucher',
  catalogVouchers: 'CatalogVoucher',
  marketingSignups: 'MarketingSignup',
}

/** Asks for a page. @returns the answer of GraphQL */
export async function ask(
  client: Client,
  secret: string,
  asked: Asked,
  page: PageArguments = {},
  selection = 'databaseId',
) {
  const { tenantId, list, ...args } = asked
  const type = types[list]
  const query = `query ($tenant: ID!, $filter: ${type}Filter, $orderBy: ${type}Order, $withDescendants: Boolean,
      $updatedSince: DateTime, $first: Int, $last: Int, $after: String, $before: String) {
    tenant(id: $tenant) {
      list: ${list}(filter: $filter, orderBy: $orderBy, withDescendants: $withDescendants, updatedSince: $updatedSince,
          first: $first, last: $last, after: $after, before: $before) {
        count { count precision } serverTime nextCursor
        pageInfo { hasNextPage hasPreviousPage startCursor endCursor }
        edges { cursor node { ${selection} } }
      }
    }
  }`
  return (await client.graphql(secret, query, { tenant: tenantId, ...args, ...page })).body
}

/** Requests a page, which must succeed. @returns the list */
export async function list(client: Client, secret: string, asked: Asked, page: PageArguments = {}, selection?: string) {
  const { data, errors } = await ask(client, secret, asked, page, selection)
  if (errors) throw new Error(JSON.stringify(errors))
  return data.tenant.list
}

export const idsOf = (found: { edges: { node: { databaseId: number } }[] }) =>
  found.edges.map(edge => edge.node.databaseId)

/** Reads the whole list in pages. @returns the ids in the order of the list, and how many the first page counted */
export async function walk(client: Client, secret: string, asked: Asked, size: number, backward = false) {
  const pages = await readPages(page => list(client, secret, asked, page), size, backward)
  const ids = pages.map(idsOf)
  if (pages.length > 1) expect(ids, 'pages without records').not.toContainEqual([])
  return { ids: ids.flat(), total: pages.at(backward ? -1 : 0).count.count }
}

/** Returns a function that draws one of the values given to it, the same ones in each run. */
export function createDraw(name: string) {
  const random = new Random(name, 0)
  return <Value>(values: readonly Value[]): Value => random.pick(values)
}

export type Filter<Row> = [filter: object, matches: (row: Row) => boolean]

/** A field to order by, the key of a row, and a filter that the order needs. */
export type Order<Row> = [field: string, keyOf: (row: Row) => string | number | null, filter: object]

/** Returns a function that sorts as PostgreSQL does in ascending order, but rows without a key last in both directions. */
function byKey<Row extends { id: number }>(keyOf: Order<Row>[1], direction: 'ASC' | 'DESC') {
  const sign = direction === 'ASC' ? 1 : -1
  return (a: Row, b: Row) => {
    const [left, right] = [keyOf(a), keyOf(b)]
    if (left === null || right === null) return left === right ? sign * (a.id - b.id) : left === null ? 1 : -1
    return sign * (left < right ? -1 : left > right ? 1 : a.id - b.id)
  }
}

/**
 * Returns a function that walks a list in both directions, without and with the tenants below, and compares it with a
 * naive implementation.
 *
 * @param tenants the tenant of the list, and those below it
 */
export const createComparison =
  (client: Client, secret: string, tenants: readonly [number, ...number[]]) =>
  async <Row extends { id: number; tenantId: number }>(
    asked: Omit<Asked, 'tenantId'>,
    rows: readonly Row[],
    matches: (row: Row) => boolean,
    keyOf: Order<Row>[1],
  ): Promise<void> => {
    for (const withDescendants of [false, true]) {
      const list = { tenantId: tenants[0], ...asked, withDescendants }
      const listed = rows.filter(row =>
        withDescendants ? tenants.includes(row.tenantId) : row.tenantId === tenants[0],
      )
      const sorted = listed.filter(matches).sort(byKey(keyOf, asked.orderBy?.direction ?? 'ASC'))
      const expected = { ids: sorted.map(({ id }) => id), total: sorted.length }
      const walks = [walk(client, secret, list, 20), walk(client, secret, list, 17, true)]
      expect(await Promise.all(walks), JSON.stringify(list)).toEqual([expected, expected])
    }
  }
