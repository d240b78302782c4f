import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import { isEnumType, isIntrospectionType, isObjectType, isSpecifiedScalarType } from 'graphql'
import { expect, test } from 'vitest'
import { directResolverOf, offerBatch } from '../../src/graphql/direct-resolver.ts'
import { policyPlugin } from '../../src/graphql/policy.ts'
import { schema } from '../../src/graphql/schema.ts'

/**
 * A faulty plugin: it replaces the resolver and the subscriber of a field with those that it had before other plugins.
 */
class DropPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(_: unknown, { extensions }: PothosOutputFieldConfig<Types>) {
    return extensions?.pothosOriginalResolve as ReturnType<BasePlugin<Types>['wrapResolve']>
  }
  override wrapSubscribe(_: unknown, { extensions }: PothosOutputFieldConfig<Types>) {
    return extensions?.pothosOriginalSubscribe as ReturnType<BasePlugin<Types>['wrapSubscribe']>
  }
}
const dropPlugin = 'drop' as typeof policyPlugin
SchemaBuilder.registerPlugin(dropPlugin, DropPlugin as never)

const policy = { permissions: ['view_orders' as const] }
const powerless = { caller: { token: { permissions: [] } } }

/** Returns a resolver that the executor may call once for many parents. */
const createBatchedField = () => ({ resolve: () => 'open' })

/** Creates a schema with fields from each kind of source, both with a policy and without. */
function createSchema(plugins: (typeof policyPlugin)[]) {
  const builder = new SchemaBuilder<{ Objects: { Card: { secret: string } } }>({ plugins })
  const [open, guarded] = [createBatchedField(), createBatchedField()]
  for (const { resolve } of [open, guarded]) offerBatch(resolve, async () => [])
  builder.objectType('Card', {
    fields: t => ({
      secret: t.exposeString('secret', { policy }),
      openProperty: t.exposeString('secret'),
      guardedProperty: t.exposeString('secret', { policy }),
      openBatch: t.string(open),
      guardedBatch: t.string({ ...guarded, policy }),
    }),
  })
  builder.queryType({ fields: t => ({ card: t.field({ type: 'Card', resolve: () => ({ secret: 'open' }) }) }) })
  return builder.toSchema()
}

/** Creates a schema with a subscription that has a policy. */
function createSubscription(plugins: (typeof policyPlugin)[]) {
  const builder = new SchemaBuilder({ plugins })
  builder.queryType({ fields: t => ({ none: t.string({ resolve: () => '' }) }) })
  const subscribe = async function* () {
    yield 'open'
  }
  builder.subscriptionType({ fields: t => ({ secret: t.string({ policy, subscribe, resolve: text => text }) }) })
  return builder.toSchema()
}

test('a field with a policy checks its policy, and the executor reads only fields without a policy directly', () => {
  const type = createSchema([policyPlugin]).getType('Card')
  const fields = isObjectType(type) ? type.getFields() : {}
  for (const name of ['secret', 'guardedProperty', 'guardedBatch']) {
    const { resolve } = fields[name]!
    expect(directResolverOf(resolve!), name).toBeUndefined()
    expect(() => resolve?.({ secret: 'open' }, {}, powerless, {} as never), name).toThrow('view_orders')
  }
  for (const name of ['openProperty', 'openBatch']) expect(directResolverOf(fields[name]!.resolve!), name).toBeDefined()
})

test('the policy of a subscription is checked when the subscription begins', () => {
  const { subscribe } = createSubscription([policyPlugin]).getSubscriptionType()?.getFields().secret ?? {}
  expect(() => subscribe?.(undefined, {}, powerless, {} as never)).toThrow('view_orders')
})

test('a schema is refused when a field has lost its policy', () => {
  expect(() => createSchema([dropPlugin, policyPlugin])).toThrow('The policy of Card.secret is not checked.')
  expect(() => createSubscription([dropPlugin, policyPlugin])).toThrow('The policy of Subscription.secret is not')
})

test('the schema describes every type, field, argument, input field and enum value', () => {
  let described = 0
  const lacking: string[] = []
  const check = (path: string, description?: string | null) => {
    described++
    if (!description?.trim().endsWith('.')) lacking.push(path)
  }
  for (const type of Object.values(schema.getTypeMap())) {
    if (isIntrospectionType(type) || isSpecifiedScalarType(type)) continue
    check(type.name, type.description)
    if (isEnumType(type)) for (const value of type.getValues()) check(`${type.name}.${value.name}`, value.description)
    for (const field of 'getFields' in type ? Object.values(type.getFields()) : []) {
      const path = `${type.name}.${field.name}`
      check(path, field.description)
      if ('args' in field) for (const arg of field.args) check(`${path}(${arg.name})`, arg.description)
    }
  }
  expect(lacking).toEqual([])
  expect(described).toBeGreaterThan(300)
})
