/** The links of a tenant to the tenants above and below it. */
import DataLoader from 'dataloader'
import { mapMaybePromise } from '../async/maybe-promise.ts'
import { type ChildrenRequest, countChildTenants, listChildTenants } from '../domain/tenant/children.ts'
import { childList } from '../domain/tenant/tenant.ts'
import { builder } from './builder.ts'
import { pageComplexity } from './complexity.ts'
import { readConnection } from './connection.ts'
import { createPageLoader, type Reader } from './loaders.ts'
import { rowOf, Tenant, TenantConnection } from './tenant.ts'

builder.objectField(Tenant, 'parent', t =>
  t.field({
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
)

const childrenLoader = ({ records, caller }: Reader) =>
  createPageLoader((wanted: readonly ChildrenRequest[]) => listChildTenants(records, caller.token, wanted))

const countLoader = ({ records, caller }: Reader) =>
  new DataLoader((parentIds: readonly number[]) => countChildTenants(records, caller.token, parentIds))

builder.objectField(Tenant, 'children', t =>
  t.connection(
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
)
