import { describe, expect, test } from 'vitest'
import type { Permission } from '../../src/domain/permission.ts'
import { BatchChildren, childField } from '../../src/graphql/children.ts'
import { Tenant } from '../../src/graphql/tenant.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { createContexts, outcomeOf } from '../support/gateway.ts'

// Fields of all the forms that are not run by their resolver alone, with a policy and without one: added before the
// schema is made.
const { builder } = await import('../../src/graphql/builder.ts')
const policy = { permissions: ['redeem_vouchers' as const] }
/** For which tenants children were read, each time. */
const reads: (readonly number[])[] = []
const children = new BatchChildren<{ id: number }, string>(async parents => {
  const ids = parents.map(({ id }) => id)
  reads.push(ids)
  return ids.map(id => [`child of ${id}`])
})
const below = childField(
  () => children,
  names => names.join(),
)
builder.objectFields(Tenant, t => ({
  openChildren: t.string({ ...below }),
  guardedChildren: t.string({ ...below, policy }),
  openProperty: t.expose('id', { type: 'BigInt' }),
  guardedProperty: t.expose('id', { type: 'BigInt', policy }),
}))
const { prepareOperation } = await import('../../src/rest/prepare-operation.ts')
const { prepareOrdinary } = await import('../support/ordinary.ts')

const database = await createDatabase()
const build = createBuilders(database)
const tenants = [await build.tenant(), await build.tenant()]
const { id: tokenId } = await build.token([])
const contextOf = createContexts(database.pool)

async function bothWays(field: string, permissions: Permission[]) {
  const document = { toString: () => `query { tenants { data: nodes { id: databaseId it: ${field} } } }` }
  const outcomes: unknown[] = []
  for (const run of [prepareOperation(document), prepareOrdinary(document)]) {
    outcomes.push(await outcomeOf(() => run(contextOf({ tokenId, tenants, permissions }), {})))
  }
  return outcomes
}

describe.each(['Children', 'Property'])('the policy of a field below a list: %s', kind => {
  test('refuses whoever lacks the permission, in both ways', async () => {
    const [fast, ordinary] = await bothWays(`guarded${kind}`, ['view_vouchers'])
    expect(fast).toEqual(ordinary)
    expect(fast).toMatchObject({ thrown: { code: 'FORBIDDEN', message: expect.stringContaining('redeem_vouchers') } })
  })

  test('lets pass whoever has it, who is told what the field without a policy tells', async () => {
    const [fast, ordinary] = await bothWays(`guarded${kind}`, ['redeem_vouchers'])
    expect(fast).toEqual(ordinary)
    expect(await bothWays(`open${kind}`, [])).toEqual([fast, ordinary])
  })
})

test('children of a list are read for the list as a whole', async () => {
  reads.length = 0
  const document = { toString: () => 'query { tenants { data: nodes { a: openChildren b: openChildren } } }' }
  await prepareOperation(document)(contextOf({ tokenId, tenants, permissions: [] }), {})
  expect(reads).toEqual([tenants])
})
