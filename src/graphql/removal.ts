import { requireCompleteRemovals, type SyncState } from '../domain/full-pass.ts'
import type { Permission } from '../domain/permission.ts'
import {
  type RemovalResource as Resource,
  type Removal as Row,
  removalList,
  removalResources,
} from '../domain/removal.ts'
import { builder } from './builder.ts'
import { pageComplexity } from './complexity.ts'
import { readConnection, updatedSinceDescription } from './connection.ts'
import type { Context } from './context.ts'
import type { NodeType } from './global-id.ts'
import { permissionsFor } from './node.ts'
import { oneOperation, requirePermissions } from './policy.ts'
import { Tenant } from './tenant.ts'

const RemovalResource = builder.enumType('RemovalResource', {
  description: 'What a removed record was.',
  values: {
    TENANT: {
      value: 'tenant',
      description: 'A tenant that was below this one, and is not in the list of tenants.',
    },
    CATALOG_VOUCHER: { value: 'catalog_voucher', description: 'A product. Needs `view_vouchers`.' },
    PURCHASED_VOUCHER: {
      value: 'purchased_voucher',
      description: 'A purchased voucher. Needs `view_vouchers` and `view_orders`.',
    },
    MARKETING_SIGNUP: {
      value: 'marketing_signup',
      description: 'A customer who had opted in. Needs `export_customer_information`.',
    },
  } as const,
})

const RemovalReason = builder.enumType('RemovalReason', {
  description: 'Why a record is gone.',
  values: {
    DELETED: { value: 'deleted', description: 'It was deleted; of a tenant, also: a tenant above it was.' },
    MOVED: {
      value: 'moved',
      description:
        'It belongs to another tenant now, or has another id; of a tenant, it or one above it stands elsewhere.',
    },
    CONSENT_WITHDRAWN: { value: 'consent_withdrawn', description: 'The customer no longer consents to marketing.' },
  } as const,
})

const Removal = builder.objectRef<Row>('Removal').implement({
  description:
    'A record that left a list of the tenant, so that a copy can follow. It is reported only while it is absent from that list.',
  fields: t => ({
    resource: t.expose('resource', { type: RemovalResource, description: 'What it was.' }),
    recordId: t.expose('recordId', { type: 'BigInt', description: 'Its numeric id, as in v1.' }),
    tenantId: t.expose('tenantId', { type: 'BigInt', description: 'The numeric id of the tenant whose list it left.' }),
    reason: t.expose('reason', { type: RemovalReason, description: 'Why it is gone.' }),
    removedAt: t.expose('updatedAt', { type: 'DateTime', description: 'When it left.' }),
  }),
})

/** The type of a removed record: its removals need the permissions that the record itself needs. */
const typeOf = {
  tenant: 'Tenant',
  catalog_voucher: 'CatalogVoucher',
  purchased_voucher: 'PurchasedVoucher',
  marketing_signup: 'MarketingSignup',
} as const satisfies Record<Resource, NodeType>

/** What was asked for, all of it permitted; or else all that the token is permitted to read. */
function permittedResources(context: Context, wanted: readonly Resource[] | null | undefined): readonly Resource[] {
  const held: readonly Permission[] = context.caller.token.permissions
  const needed = (resource: Resource): readonly Permission[] => permissionsFor[typeOf[resource]]
  if (!wanted) return removalResources.filter(resource => needed(resource).every(name => held.includes(name)))
  for (const resource of wanted) requirePermissions(context, needed(resource))
  return wanted
}

builder.objectField(Tenant, 'removals', t =>
  t.connection(
    {
      type: Removal,
      nullable: true,
      description:
        "What left the tenant's lists, by `removedAt`: records that were deleted or moved, and customers who no longer consent.",
      policy: { operations: oneOperation },
      complexity: pageComplexity,
      args: {
        updatedSince: t.arg({ type: 'DateTime', description: updatedSinceDescription }),
        resources: t.arg({
          type: [RemovalResource],
          description: 'Only these; all that the token is permitted to read, when left out.',
        }),
      },
      resolve: async (tenant, args, context) => {
        const wanted = permittedResources(context, args.resources)
        const removals = context.loaders.removals(wanted)
        let syncState: SyncState | undefined
        const connection = await readConnection(context, removalList(tenant.id), args, {
          page: async range => {
            const reading = await removals.pages.load({ tenantId: tenant.id, range })
            syncState = await context.loaders.syncState(reading)
            if (range.updatedSince !== null) requireCompleteRemovals(range.updatedSince, syncState)
            return reading
          },
          count: updatedSince => removals.counts.load({ tenantId: tenant.id, updatedSince }),
        })
        return Object.assign(connection, syncState)
      },
    },
    {
      name: 'RemovalConnection',
      fields: t => ({
        epoch: t.expose('epoch', {
          type: 'BigInt',
          description:
            'Grows when all copies must be rebuilt. Keep the one that a full pass began with; do a full pass when it has grown.',
        }),
        removalsCompleteSince: t.expose('removalsCompleteSince', {
          type: 'DateTime',
          nullable: true,
          description:
            'From this instant on, no removal is missing; an `updatedSince` before it is refused. Null when none was ever purged.',
        }),
      }),
    },
    { name: 'RemovalEdge' },
  ),
)
