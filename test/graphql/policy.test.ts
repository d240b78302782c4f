import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core'
import { isObjectType } from 'graphql'
import { expect, test } from 'vitest'
import { policyPlugin } from '../../src/graphql/policy.ts'

/** A plugin that puts back the resolver that a field had before other plugins, as a faulty one might. */
class DropPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override wrapResolve(_: unknown, { extensions }: PothosOutputFieldConfig<Types>) {
    return extensions?.pothosOriginalResolve as ReturnType<BasePlugin<Types>['wrapResolve']>
  }
}
const dropPlugin = 'drop' as typeof policyPlugin
SchemaBuilder.registerPlugin(dropPlugin, DropPlugin as never)

/** Makes a schema with a field that has its property's name, which needs no resolver of its own, and a policy. */
function createSchema(plugins: (typeof policyPlugin)[]) {
  const builder = new SchemaBuilder<{ Objects: { Card: { secret: string } } }>({ plugins })
  builder.objectType('Card', {
    fields: t => ({ secret: t.exposeString('secret', { policy: { permissions: ['view_orders'] } }) }),
  })
  builder.queryType({ fields: t => ({ card: t.field({ type: 'Card', resolve: () => ({ secret: 'open' }) }) }) })
  return builder.toSchema()
}

test('a field that has the name of its property is resolved by its policy', () => {
  const type = createSchema([policyPlugin]).getType('Card')
  const { resolve } = (isObjectType(type) && type.getFields().secret) || {}
  const context = { caller: { token: { permissions: [] } } }
  expect(() => resolve?.({ secret: 'open' }, {}, context, {} as never)).toThrow('view_orders')
})

test('a schema is refused when a field has lost its policy', () => {
  expect(() => createSchema([dropPlugin, policyPlugin])).toThrow('The policy of Card.secret is not checked.')
})
