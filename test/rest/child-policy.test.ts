import DataLoader from 'dataloader'
import { GraphQLError, type GraphQLField, isObjectType, parse } from 'graphql'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Permission } from '../../src/domain/token/permission.ts'
import { childField, readLists } from '../../src/graphql/children.ts'
import { Tenant } from '../../src/graphql/tenant.ts'
import { createContexts } from '../support/gateway.ts'

// Adds fields of all kinds that the executor resolves without their resolver, with and without a policy, before the
// schema is built.
const { builder } = await import('../../src/graphql/builder.ts')
const policy = { permissions: ['redeem_vouchers' as const] }
/** The tenants whose children were read, each time. */
const reads: (readonly number[])[] = []
const children = new DataLoader((lists: readonly (readonly { id: number }[])[]) =>
  readLists(async parents => {
    const ids = parents.map(({ id }) => id)
    reads.push(ids)
    return ids.map(id => [`child of ${id}`])
  }, lists),
)
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
const { schema } = await import('../../src/graphql/schema.ts')
const { directResolverOf } = await import('../../src/graphql/direct-resolver.ts')
const { prepareOperation } = await import('../../src/rest/prepare-operation.ts')
const { startService } = await import('../support/service.ts')

const { build, database } = await startService()
const tenants = [await build.tenant(), await build.tenant()]
const { id: tokenId } = await build.token([])
const contextOf = createContexts(database.pool)

/** Runs a document with a field below a list. @returns its body */
const read = async (field: string, permissions: Permission[]) => {
  const run = prepareOperation(parse(`query { tenants { data: nodes { id: databaseId it: ${field} } } }`))
  return String(await run(contextOf({ tokenId, tenants, permissions }), {}))
}

function fieldOf(name: string): GraphQLField<unknown, unknown> {
  const type = schema.getType('Tenant')
  const field = isObjectType(type) ? type.getFields()[name] : undefined
  if (!field) throw new Error(`There is no field ${name}.`)
  return field
}

const forbidden = { code: 'FORBIDDEN', message: expect.stringContaining('redeem_vouchers') }

describe.each(['Children', 'Property'])('a field below a list without its resolver: %s', kind => {
  const open = fieldOf(`open${kind}`)
  const guarded = fieldOf(`guarded${kind}`)
  const kept = [open, guarded].map(field => ({ field, resolve: field.resolve, extensions: field.extensions }))
  const restore = () => {
    for (const { field, resolve, extensions } of kept) Object.assign(field, { resolve, extensions })
  }
  beforeEach(restore)
  afterEach(restore)

  test('fails for a token that lacks the permission', async () => {
    await expect(read(guarded.name, ['view_vouchers'])).rejects.toMatchObject(forbidden)
  })

  test('gives the same result with the permission as the field without a policy', async () => {
    const body = await read(open.name, [])
    expect(body).toContain(`"id":${tenants[0]},"it":`)
    expect(await read(guarded.name, ['redeem_vouchers'])).toBe(body)
  })

  test('is marked by its resolver alone, and only without a policy', () => {
    expect(directResolverOf(open.resolve!)).toBeDefined()
    expect(directResolverOf(guarded.resolve!)).toBeUndefined()
  })

  test('keeps its policy when extensions of the schema library are lost or wrong', async () => {
    for (const extensions of [{}, { ...open.extensions }, { ...guarded.extensions, pothosResolveWrapped: false }]) {
      guarded.extensions = extensions
      await expect(read(guarded.name, ['view_vouchers'])).rejects.toMatchObject(forbidden)
    }
  })

  test('runs a resolver that is put before the resolver of a marked field', async () => {
    open.resolve = () => {
      throw new GraphQLError('not for you', { extensions: { code: 'FORBIDDEN' } })
    }
    await expect(read(open.name, [])).rejects.toThrow('not for you')
  })

  test('gives the same result by its resolver when it has no mark', async () => {
    const marked = await read(open.name, [])
    const { resolve } = open
    open.resolve = (...args) => resolve?.(...args)
    expect(directResolverOf(open.resolve)).toBeUndefined()
    expect(await read(open.name, [])).toBe(marked)
  })
})

test('children are read for lists as a whole: of several in one statement, once for a parent', async () => {
  reads.length = 0
  const list = 'tenants { nodes { a: openChildren b: openChildren } edges { node { it: openChildren } } }'
  const document = parse(`query { data: ${list} }`)
  await prepareOperation(document)(contextOf({ tokenId, tenants, permissions: [] }), {})
  expect(reads).toEqual([tenants])
})
