import DataLoader from 'dataloader'
import { mapMaybePromise } from '../async/maybe-promise.ts'
import { orNotFound } from '../domain/errors.ts'
import type { PageWindow } from '../domain/paging/page.ts'
import { type ChildrenRequest, countChildTenants, listChildTenants } from '../domain/tenant/children.ts'
import {
  childList,
  countGrantedTenants,
  findTenants,
  listTenants,
  type Tenant as Row,
  tenantColumns,
  tenantList,
  tenantRecords,
} from '../domain/tenant/tenant.ts'
import { builder } from './builder.ts'
import { loadColumns } from './columns.ts'
import { pageComplexity } from './complexity.ts'
import { readConnection, updatedSinceDescription } from './connection.ts'
import type { Context } from './context.ts'
import { requireTenantId } from './global-id.ts'
import { createPageLoader, type Reader } from './loaders.ts'
import { addNodeType } from './node-types.ts'

/** A tenant for which the caller's token is authorised. The row of the tenant is loaded when a field needs it. */
type TenantSource = { id: number } | Row

const tenantLoader = ({ records }: Reader) => new DataLoader((ids: readonly number[]) => findTenants(records, ids))

/** Loads pages of the tenants for which the caller is authorised, in one statement per page. */
const pageLoader = ({ records, caller }: Reader) =>
  createPageLoader((wanted: readonly PageWindow[]) =>
    Promise.all(wanted.map(window => listTenants(records, caller.token, window))),
  )

/** Returns the row of a tenant. Throws `NOT_FOUND` when the tenant no longer exists. */
const rowOf = (source: TenantSource, { loaders }: Context): Row | Promise<Row> =>
  'name' in source ? source : loaders.get(tenantLoader).load(source.id).then(orNotFound('tenant'))

/** The type `Tenant`. The lists of a tenant are fields that `addResource` adds. */
export const Tenant = builder.node(builder.objectRef<TenantSource>('Tenant'), {
  description:
    'An organisation unit that can have a parent. Its lists have its own records only, without the records of tenants below it.',
  id: { resolve: tenant => tenant.id, description: 'The global id.' },
  fields: t => ({
    databaseId: t.expose('id', { type: 'BigInt', description: 'The numeric id, as in v1.' }),
    ...loadColumns(t, tenantColumns, rowOf),
  }),
})

addNodeType({
  ...tenantRecords,
  removedRecord: 'A tenant that was below this one, and is not in the list of tenants.',
  find: async (_context, { id }) => ({ id }),
})

const TenantConnection = builder.connectionObject({ type: Tenant, name: 'TenantConnection' }, { name: 'TenantEdge' })

builder.queryFields(t => ({
  tenants: t.connection(
    {
      type: Tenant,
      nullable: true,
      description: 'The tenants that the token is authorised for, by `updatedAt`, then `id`.',
      policy: { cost: 1 },
      complexity: pageComplexity,
      args: { updatedSince: t.arg({ type: 'DateTime', description: updatedSinceDescription }) },
      resolve: (_, args, context) =>
        readConnection(context, tenantList, args, {
          page: window => context.loaders.get(pageLoader).load(window),
          total: since => countGrantedTenants(context.records, context.caller.token, since),
        }),
    },
    TenantConnection,
  ),
  tenant: t.field({
    type: Tenant,
    nullable: true,
    description: 'One tenant that the token is authorised for.',
    args: { id: t.arg.id({ required: true, description: 'Its numeric or its global id.' }) },
    policy: { tenant: ({ id }) => requireTenantId(id) },
    resolve: (_, args) => ({ id: requireTenantId(args.id) }),
  }),
}))

const childrenLoader = ({ records, caller }: Reader) =>
  createPageLoader((wanted: readonly ChildrenRequest[]) => listChildTenants(records, caller.token, wanted))

const countLoader = ({ records, caller }: Reader) =>
  new DataLoader((parentIds: readonly number[]) => countChildTenants(records, caller.token, parentIds))

builder.objectFields(Tenant, t => ({
  parent: t.field({
    type: Tenant,
    nullable: true,
    description:
      'The tenant above it. Null when there is none, or the token is not authorised for it; `parentId` shows which.',
    resolve: (tenant, _args, context) =>
      mapMaybePromise(rowOf(tenant, context), ({ parentId: id }) =>
        id === null
          ? null
          : mapMaybePromise(context.scope.includes(context.caller.token, id), included => (included ? { id } : null)),
      ),
  }),
  children: t.connection(
    {
      type: Tenant,
      nullable: true,
      description: 'The tenants directly below it that the token is authorised for, by `name` in any case, then `id`.',
      policy: { cost: 1 },
      complexity: pageComplexity,
      resolve: ({ id: parentId }, args, context) =>
        readConnection(context, childList(parentId), args, {
          page: window => context.loaders.get(childrenLoader).load({ parentId, window }),
          total: () => context.loaders.get(countLoader).load(parentId),
        }),
    },
    TenantConnection,
  ),
}))
