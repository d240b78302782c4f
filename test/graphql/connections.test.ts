import { expect, it } from 'vitest'
import { readPages } from '../support/graphql.ts'
import { startService } from '../support/service.ts'

interface Page {
  nodes: { databaseId: number }[]
  edges: { cursor: string; node: { databaseId: number } }[]
  pageInfo: { hasNextPage: boolean; hasPreviousPage: boolean; startCursor: string | null; endCursor: string | null }
  nextCursor: string | null
  totalCount: number
}

const fields = `nodes { databaseId } edges { cursor node { databaseId } } nextCursor totalCount
  pageInfo { hasNextPage hasPreviousPage startCursor endCursor }`

const { build, client } = await startService()
const tenantId = await build.tenant()
const { secret } = await build.token([tenantId])
/** The products in the order of the list. Some have the same stamp; others are one microsecond apart. */
const ids: number[] = []
const times = ['T10:00:00.000001', 'T10:00:00.000002', 'T10:00:00.000002', 'T10:00:00.000002', 'T10:00:00.000003']
for (const updated_at of [
  ...['2025-12-31T00:00:00Z', '2025-12-31T00:00:00Z', '2025-12-31T00:00:00Z'],
  ...times.map(time => `2026-01-01${time}Z`),
  ...['2026-01-02T00:00:00Z', '2026-01-03T00:00:00Z'],
]) {
  ids.push(await build.product(tenantId, { updated_at }))
}

async function page(args: Record<string, unknown>, list = 'catalogVouchers'): Promise<Page> {
  const { body } = await ask(args, list)
  expect(body.errors).toBeUndefined()
  return body.data.tenant[list]
}

function ask(args: Record<string, unknown>, list = 'catalogVouchers') {
  const given = 'first: $first, last: $last, after: $after, before: $before, updatedSince: $updatedSince'
  const query = `query ($tenant: ID!, $first: Int, $last: Int, $after: String, $before: String, $updatedSince: DateTime) {
    tenant(id: $tenant) { ${list}(${given}) { ${fields} } } }`
  return client.graphql(secret, query, { tenant: String(tenantId), ...args })
}

const idsOf = ({ nodes }: Page) => nodes.map(node => node.databaseId)

it.each([1, 2, 3, 4, 10])('every record is listed once, in order, forward and backward by %i', async size => {
  for (const backward of [false, true]) {
    const pages = await readPages(asked => page({ ...asked }), size, backward)
    expect(pages.flatMap(idsOf)).toEqual(ids)
  }
})

it('only the records between two cursors are listed, from either end', async () => {
  const { edges } = await page({})
  const [after, before] = [edges[1]!.cursor, edges[8]!.cursor]
  expect(idsOf(await page({ after, before }))).toEqual(ids.slice(2, 8))
  const [start, end] = [await page({ first: 2, after, before }), await page({ last: 2, after, before })]
  expect([start, end].map(idsOf)).toEqual([ids.slice(2, 4), ids.slice(6, 8)])
  for (const { pageInfo } of [start, end]) expect(pageInfo).toMatchObject({ hasNextPage: true, hasPreviousPage: true })
})

it('each edge has the cursor of its record', async () => {
  const { edges, nodes } = await page({ first: 5 })
  expect(edges.map(edge => edge.node)).toEqual(nodes)
  for (const [index, { cursor }] of edges.entries()) {
    expect(idsOf(await page({ first: 1, after: cursor }))).toEqual([ids[index + 1]])
  }
})

it('every page, even an empty page, says whether there are more records', async () => {
  const none = { nodes: [], edges: [], nextCursor: null }
  const cursors = { startCursor: null, endCursor: null }
  expect(await page({ first: 0 })).toMatchObject({ ...none, pageInfo: { ...cursors, hasNextPage: true } })
  expect(await page({ last: 0 })).toMatchObject({ ...none, pageInfo: { ...cursors, hasPreviousPage: true } })
  const pageInfo = { hasNextPage: false, hasPreviousPage: false, ...cursors }
  expect(await page({ first: 0 }, 'purchasedVouchers')).toMatchObject({ ...none, pageInfo, totalCount: 0 })
})

it('cursors in both directions keep updatedSince, and the count uses it', async () => {
  const updatedSince = '2026-01-01T10:00:00.000002Z'
  const { pageInfo, totalCount } = await page({ first: 1, updatedSince })
  expect([totalCount, (await page({ after: pageInfo.endCursor })).totalCount]).toEqual([6, 6])
  expect((await page({ after: pageInfo.endCursor, updatedSince: '2026-01-02T00:00:00Z' })).totalCount).toBe(2)
  const end = await page({ last: 1, updatedSince })
  expect(idsOf(await page({ last: 100, before: end.pageInfo.startCursor }))).toEqual(ids.slice(4, 9))
})

it('all wrong arguments are reported in one error', async () => {
  const wrong = { first: -1, last: 101, after: 'x', before: 'y', updatedSince: '2026-01-01' }
  const { status, body } = await ask(wrong)
  expect(status).toBe(200)
  expect(Object.keys(body.errors[0].extensions.errors).sort()).toEqual(Object.keys(wrong).sort())
})

it.each([{ first: 101 }, { last: -1 }, { first: 1, last: 1 }])('the arguments %o are rejected', async args => {
  const { body } = await ask(args)
  expect(body.errors[0].extensions.code).toBe('BAD_USER_INPUT')
  expect(body.data).toEqual({ tenant: { catalogVouchers: null } })
})

it('null and empty arguments count as absent', async () => {
  expect(idsOf(await page({ first: null, last: null, after: null, before: '', updatedSince: '' }))).toEqual(ids)
})
