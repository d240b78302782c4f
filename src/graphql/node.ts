import { notFound, orNotFound } from '../domain/errors.ts'
import { builder } from './builder.ts'
import { recordComplexity, unitComplexity } from './complexity.ts'
import type { Context } from './context.ts'
import { parseGlobalId } from './global-id.ts'
import { findNodeType, typeNameOf } from './node-types.ts'
import { requirePermissions } from './policy.ts'

/** Returns a function that fetches a record. @throws `FORBIDDEN` or `NOT_FOUND` when the caller may not ask for it */
async function authoriseFetch(context: Context, id: string): Promise<() => Promise<object>> {
  const place = parseGlobalId(id)
  const nodeType = place && findNodeType(place.type)
  if (!nodeType) throw notFound('record')
  requirePermissions(context, nodeType.permissions)
  if (!(await context.scope.includes(context.caller.token, place.tenantId))) throw notFound('record')
  return async () => {
    const record = orNotFound('record')(await nodeType.find(context, place))
    return Object.assign(record, { __typename: typeNameOf(nodeType.noun) })
  }
}

builder.queryFields(t => ({
  node: t.field({
    type: builder.nodeInterfaceRef(),
    nullable: true,
    description: 'One record by its global id. Counts as one operation of the rate limit.',
    args: { id: t.arg.id({ required: true, description: 'A global id: the value of an `id` field.' }) },
    policy: { cost: 1 },
    complexity: recordComplexity,
    resolve: async (_root, { id }, context) => (await authoriseFetch(context, id))(),
  }),

  nodes: t.field({
    type: [builder.nodeInterfaceRef()],
    nullable: { list: true, items: true },
    description:
      'Several records by their global ids, in the order of the ids. Each counts as one operation of the rate limit.',
    args: { ids: t.arg.idList({ required: true, description: 'Global ids: values of `id` fields; at most 100.' }) },
    policy: { cost: args => (Array.isArray(args.ids) ? args.ids.length : 1) },
    complexity: ({ ids }) => ({ field: unitComplexity * ids.length, multiplier: ids.length }),
    // The check of the tenant ends at different times for different ids. Records are loaded after the last check, so
    // that they share one batch.
    resolve: (_root, { ids }, context) => {
      const authorised = ids.map(id => authoriseFetch(context, id))
      const settled = Promise.allSettled(authorised)
      return authorised.map(one => settled.then(async () => (await one)()))
    },
  }),
}))
