/** `changes`: which lists of the token changed, for clients that keep a copy of them. */
import { badInput } from '../domain/errors.ts'
import {
  accessOf,
  type Changes as ChangesRow,
  type ListChange as ListChangeRow,
  mostHeads,
  readChanges,
} from '../domain/record/list-changes.ts'
import { requireCompleteRemovals } from '../domain/sync/full-pass.ts'
import { tenantRecords } from '../domain/tenant/tenant.ts'
import { instantMessage, parseInstant } from '../domain/value/instant.ts'
import { builder } from './builder.ts'
import { unitComplexity } from './complexity.ts'
import { describePermissions, listNodeTypes, permittedTypes } from './node-types.ts'
import { requireAccess } from './policy.ts'
import { requireTenantId } from './record-id.ts'

const ListName = builder.enumType('ListName', {
  description: 'A list of a tenant.',
  values: Object.fromEntries(
    listNodeTypes().map(({ noun, record, permissions }) => [
      `${noun.replace(' ', '_').toUpperCase()}S`,
      {
        value: record,
        description:
          record === tenantRecords.record
            ? 'The list of tenants. It changes at the tenant itself, and at each ancestor of a tenant that leaves.'
            : `The ${noun}s of the tenant.${describePermissions(permissions)}`,
      },
    ]),
  ),
})

const ListChange = builder.objectRef<ListChangeRow>('ListChange').implement({
  description: 'A list that changed. It has no record: read the list, and its removals.',
  fields: t => ({
    tenantId: t.expose('tenantId', { type: 'BigInt', description: 'The numeric id of the tenant whose list it is.' }),
    list: t.expose('record', { type: ListName, description: 'The list.' }),
    since: t.expose('since', {
      type: 'DateTime',
      description: 'The instant of its last change. A copy that is in step up to this instant has the change.',
    }),
  }),
})

const Changes = builder.objectRef<ChangesRow>('Changes').implement({
  description: 'The lists that changed.',
  fields: t => ({
    lists: t.expose('lists', {
      type: [ListChange],
      description: 'The lists, each once, in the order of their last changes.',
      complexity: { field: 1, multiplier: mostHeads },
    }),
    serverTime: t.expose('serverTime', {
      type: 'DateTime',
      description: 'The answer has all changes that were published up to this instant. Resume with it as `after`.',
    }),
    hasMore: t.exposeBoolean('hasMore', {
      description:
        `True when the service read ${mostHeads.toLocaleString('en')} changed lists, of all tenants that it has, and did not read ` +
        'the rest: ask again immediately, with `serverTime` as `after`.',
    }),
    epoch: t.expose('epoch', {
      type: 'BigInt',
      description: 'Grows when all copies must be rebuilt, as the `epoch` of removals does.',
    }),
    access: t.string({
      description:
        'Another text when the token is authorised for other tenants, or has other permissions. These lists did not change: read the ' +
        'list of tenants, and lists that the copy lacks, from their beginning.',
      resolve: (_, _args, { caller }) => accessOf(caller.token),
    }),
  }),
})

builder.queryField('changes', t =>
  t.field({
    type: Changes,
    nullable: true,
    description:
      'The lists that changed: by a record that is new, changed or removed. Without `after`: all lists that have or had records. ' +
      'Counts as one operation of the rate limit, however many tenants the token has.',
    policy: { cost: 1 },
    complexity: { field: unitComplexity, multiplier: 1 },
    args: {
      after: t.arg({ type: 'DateTime', description: 'Only lists that changed after this instant: a `serverTime`.' }),
      tenantIds: t.arg.idList({
        description:
          'Only lists of these tenants, by their numeric or their global ids; at most 100. Default: all of the token.',
      }),
      lists: t.arg({
        type: [ListName],
        description: 'Only these lists. Default: all that the token is permitted to read.',
      }),
    },
    resolve: async (_, { after: given = null, tenantIds = null, lists }, context) => {
      const ids = tenantIds?.map(requireTenantId) ?? null
      await Promise.all((ids ?? []).map(id => requireAccess(context, id, [])))
      const records = permittedTypes(context, lists).map(({ record }) => record)
      const after = given === null ? null : parseInstant(given)
      if (given !== null && after === null) throw badInput({ after: [instantMessage] })
      const changes = await readChanges(context.records, context.caller.token, { after, tenantIds: ids, records })
      if (after !== null) requireCompleteRemovals(after, changes, 'after')
      return changes
    },
  }),
)
