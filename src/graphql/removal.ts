import DataLoader from 'dataloader'
import {
  createRemovalTable,
  type Removal as Row,
  removalColumns,
  removalListIdentity,
  removalReasons,
} from '../domain/record/removal.ts'
import { readSyncState, requireCompleteRemovals, type SyncState } from '../domain/sync/full-pass.ts'
import { builder } from './builder.ts'
import { exposeColumns } from './columns.ts'
import { pageComplexity } from './complexity.ts'
import { readConnection, updatedSinceDescription } from './connection.ts'
import { createTableLoaders, type Reader } from './loaders.ts'
import { listNodeTypes, type NodeType, permittedTypes } from './node-types.ts'
import { Tenant } from './tenant.ts'

const nodeTypes = listNodeTypes()

const RemovalResource = builder.enumType('RemovalResource', {
  description: 'The type of a removed record.',
  values: Object.fromEntries(
    nodeTypes.map(({ noun, record, removedRecord }) => [
      noun.replace(' ', '_').toUpperCase(),
      { value: record, description: removedRecord },
    ]),
  ),
})

const RemovalReason = builder.enumType('RemovalReason', {
  description: 'Why a record left a list.',
  values: Object.fromEntries(
    Object.entries(removalReasons).map(([value, description]) => [value.toUpperCase(), { value, description }]),
  ),
})

const Removal = builder.objectRef<Row>('Removal').implement({
  description:
    'The report that a record left a list of the tenant. It is given only while the record is absent from that ' +
    'list.',
  fields: t => ({
    ...exposeColumns(t, { tenantId: removalColumns.tenantId }),
    recordId: t.expose('id', { type: 'BigInt', description: 'The numeric id of the record, as in v1.' }),
    resource: t.expose('record', { type: RemovalResource, description: 'The type of the record.' }),
    reason: t.expose('reason', { type: RemovalReason, description: 'Why it left.' }),
    removedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it left.' }),
  }),
})

type RemovalLoaders = (reader: Reader) => ReturnType<typeof createTableLoaders<Row>>

const loadersByTypes = new Map<string, RemovalLoaders>()

/** Returns the loaders of removals for a set of types. Each set has its own statement. */
function loadersOf(types: readonly NodeType[]): RemovalLoaders {
  const key = types.map(({ record }) => record).join()
  const define: RemovalLoaders =
    loadersByTypes.get(key) ?? (reader => createTableLoaders(reader, createRemovalTable(types, reader.caller.token)))
  loadersByTypes.set(key, define)
  return define
}

/**
 * Reads the state once for all pages that arrive in the same turn of the event loop. Nothing is cached, because the
 * state must be read after each page.
 */
const syncStateLoader = ({ sql }: Reader) =>
  new DataLoader<object, SyncState>(
    async pages => {
      const state = await readSyncState(sql)
      return pages.map(() => state)
    },
    { cache: false },
  )

builder.objectField(Tenant, 'removals', t =>
  t.connection(
    {
      type: Removal,
      nullable: true,
      description:
        "The records that left the tenant's lists, by `removedAt`: deleted, moved, or customers who no longer consent.",
      policy: { cost: 1 },
      complexity: pageComplexity,
      args: {
        updatedSince: t.arg({ type: 'DateTime', description: updatedSinceDescription }),
        resources: t.arg({
          type: [RemovalResource],
          description: 'Only records of these types. Default: all that the token is permitted to read.',
        }),
      },
      resolve: async (tenant, args, context) => {
        const removals = context.loaders.get(loadersOf(permittedTypes(context, args.resources)))
        let syncState: SyncState | undefined
        const connection = await readConnection(context, removalListIdentity(tenant.id), args, {
          page: async window => {
            const reading = await removals.pages.load({ tenantId: tenant.id, window })
            syncState = await context.loaders.get(syncStateLoader).load(reading)
            if (window.updatedSince !== null) requireCompleteRemovals(window.updatedSince, syncState)
            return reading
          },
          total: updatedSince => removals.counts.load({ tenantId: tenant.id, updatedSince }),
        })
        return Object.assign(connection, syncState, { serviceId: context.serviceId })
      },
    },
    {
      name: 'RemovalConnection',
      fields: t => ({
        epoch: t.expose('epoch', {
          type: 'BigInt',
          description:
            'Grows when all copies must be rebuilt. Store the value from the start of a full pass. Do a full pass when it has grown.',
        }),
        serviceId: t.exposeString('serviceId', {
          description:
            'Identifies the service. It is the same at another address, and after the data were restored on another server.',
        }),
        removalsCompleteSince: t.expose('removalsCompleteSince', {
          type: 'DateTime',
          nullable: true,
          description:
            'No removal is missing from this instant on. An `updatedSince` before it is an error. Null when no removal was ever purged.',
        }),
      }),
    },
    { name: 'RemovalEdge' },
  ),
)
