/** The query and the subscription `changes`, which report the changed lists of a token to clients that keep copies. */
import type { ArgBuilder, InputShapeFromFields } from '@pothos/core'
import { badInput } from '../domain/errors.ts'
import { maxStreams } from '../domain/event/change-streams.ts'
import {
  type Changes as ChangesRow,
  hashAccess,
  type ListChange as ListChangeRow,
  maxHeads,
  readChanges,
} from '../domain/record/list-changes.ts'
import { requireCompleteRemovals } from '../domain/sync/full-pass.ts'
import { tenantRecords } from '../domain/tenant/tenant.ts'
import type { Token } from '../domain/token/token.ts'
import { instantMessage, parseInstant } from '../domain/value/instant.ts'
import { type BuilderTypes, builder } from './builder.ts'
import { unitComplexity } from './complexity.ts'
import type { Context } from './context.ts'
import { requireTenantId } from './global-id.ts'
import { describePermissions, listNodeTypes, permittedTypes, typesOf } from './node-types.ts'
import { requireAccess } from './policy.ts'

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
      complexity: { field: 1, multiplier: maxHeads },
    }),
    serverTime: t.expose('serverTime', {
      type: 'DateTime',
      description: 'The answer has all changes that were published up to this instant. Resume with it as `after`.',
    }),
    hasMore: t.exposeBoolean('hasMore', {
      description:
        `True when the service read ${maxHeads.toLocaleString('en')} changed lists, of all tenants that it has, and did not read ` +
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
      resolve: (_, _args, { caller }) => hashAccess(caller.token),
    }),
  }),
})

const changeArgs = (t: ArgBuilder<BuilderTypes>) => ({
  after: t({ type: 'DateTime', description: 'Only lists that changed after this instant: a `serverTime`.' }),
  tenantIds: t.idList({
    description:
      'Only lists of these tenants, by their numeric or their global ids; at most 100. Default: all of the token.',
  }),
  lists: t({
    type: [ListName],
    description: 'Only these lists. Default: all that the token is permitted to read.',
  }),
})

type ChangeArgs = InputShapeFromFields<ReturnType<typeof changeArgs>>

/** Reads the arguments. @throws `NOT_FOUND`, `FORBIDDEN` and `BAD_USER_INPUT`, in R1's order */
async function readArguments({ after: given = null, tenantIds = null, lists }: ChangeArgs, context: Context) {
  const ids = tenantIds?.map(requireTenantId) ?? null
  await Promise.all((ids ?? []).map(id => requireAccess(context, id, [])))
  const records = permittedTypes(context, lists).map(({ record }) => record)
  const after = given === null ? null : parseInstant(given)
  if (given !== null && after === null) throw badInput({ after: [instantMessage] })
  return { after, tenantIds: ids, records }
}

builder.queryField('changes', t =>
  t.field({
    type: Changes,
    nullable: true,
    description:
      'The lists that changed: by a record that is new, changed or removed. Without `after`: all lists that have or had records. ' +
      'Counts as one operation of the rate limit, however many tenants the token has.',
    policy: { cost: 1 },
    complexity: { field: unitComplexity, multiplier: 1 },
    args: changeArgs(t.arg),
    resolve: async (_, args, context) => {
      const request = await readArguments(args, context)
      const changes = await readChanges(context.records, context.caller.token, request)
      if (request.after !== null) requireCompleteRemovals(request.after, changes, 'after')
      return changes
    },
  }),
)

builder.subscriptionField('changes', t =>
  t.field({
    type: Changes,
    description:
      'Follows the lists that change, as an event stream (`Accept: text/event-stream`). The first payload comes immediately: the lists ' +
      'that changed since `after`, or none without it. Then a payload comes when lists change, at most ten a second, and at least every ' +
      '15 seconds one without lists. Resume with the last `serverTime` as `after`. Counts as one operation of the rate limit; a token has ' +
      `at most ${maxStreams} streams at a time. The stream ends when the token does.`,
    policy: { cost: 1 },
    complexity: { field: unitComplexity, multiplier: 1 },
    args: changeArgs(t.arg),
    subscribe: async (_, args, context) => {
      const { after, tenantIds } = await readArguments(args, context)
      const recordsOf = (token: Token) => {
        const held = typesOf(token).map(({ record }) => record)
        return args.lists ? held.filter(record => args.lists?.includes(record)) : held
      }
      return context.changeStreams.open(context, { after, tenantIds, recordsOf })
    },
    resolve: changes => changes,
  }),
)
