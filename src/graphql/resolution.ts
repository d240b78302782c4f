import {
  type Resolution as ResolutionRow,
  type ResolvedVoucher as ResolvedVoucherRow,
  resolveVoucher,
} from '../domain/record/resolution.ts'
import {
  type ResolutionTenant as ResolutionTenantRow,
  resolutionTenantColumns,
  resolvedColumns,
} from '../domain/record/voucher-lookup.ts'
import { readVoucherName } from '../domain/record/voucher-name.ts'
import { reasonCodes } from '../domain/record/voucher-status.ts'
import { builder } from './builder.ts'
import { exposeColumns } from './columns.ts'
import { recordComplexity } from './complexity.ts'
import { requireTenantId } from './global-id.ts'

const statusDescription = '`redeemable` or `not_redeemable`.'
const reasonOptions = {
  nullable: true,
  description: `Why it cannot be redeemed, the first that applies: \`${reasonCodes.join('`, `')}\`.`,
} as const

const ResolvedVoucher = builder.objectRef<ResolvedVoucherRow>('ResolvedVoucher').implement({
  description: 'A voucher as a point of sale needs it.',
  fields: t => ({
    ...exposeColumns(t, resolvedColumns),
    status: t.exposeString('status', { description: statusDescription }),
    reasonCode: t.exposeString('reasonCode', reasonOptions),
  }),
})

const ResolutionTenant = builder.objectRef<ResolutionTenantRow>('ResolutionTenant').implement({
  description: 'The tenant at which a voucher was resolved, and the tenant that owns the voucher.',
  fields: t => exposeColumns(t, resolutionTenantColumns),
})

const Resolution = builder.objectRef<ResolutionRow>('Resolution').implement({
  description: 'The result of resolving a voucher at a tenant.',
  fields: t => ({
    status: t.exposeString('status', { description: statusDescription }),
    reasonCode: t.exposeString('reasonCode', reasonOptions),
    voucher: t.expose('voucher', { type: ResolvedVoucher, description: 'The voucher.' }),
    tenant: t.expose('tenant', {
      type: ResolutionTenant,
      description: 'The tenant at which it was resolved, and its owner.',
    }),
    redemptionToken: t.exposeString('redemptionToken', {
      nullable: true,
      description:
        'A proof for the redemption: a JWT that expires soon. The keys that check it are at /.well-known/jwks.json. Null when the voucher is not redeemable.',
    }),
  }),
})

const ResolveVoucherInput = builder.inputType('ResolveVoucherInput', {
  description: 'A voucher and a tenant. Give either `qrToken` or `voucherReference`.',
  fields: t => ({
    tenantId: t.id({
      required: true,
      description: 'The numeric or the global id of the tenant at which it is resolved.',
    }),
    qrToken: t.string({ description: 'A QR token, or the URL in a QR code; at most 2048 characters.' }),
    voucherReference: t.string({
      description: 'The reference that is printed on the voucher, in any case; at most 255 characters.',
    }),
  }),
})

builder.mutationField('resolveVoucher', t =>
  t.field({
    type: Resolution,
    nullable: true,
    description: 'Resolves a voucher ahead of its redemption. Does not redeem it. Needs `redeem_vouchers`.',
    policy: {
      cost: 1,
      tenant: ({ input }) =>
        requireTenantId(typeof input === 'object' && input !== null ? Reflect.get(input, 'tenantId') : null),
      permissions: ['redeem_vouchers'],
    },
    complexity: recordComplexity,
    args: {
      input: t.arg({ type: ResolveVoucherInput, required: true, description: 'The voucher and the tenant.' }),
    },
    resolve: async (_, { input }, { sql, loaders, caller, fieldErrors, issueRedemptionToken }) => {
      const name = readVoucherName(input, fieldErrors)
      const at = requireTenantId(input.tenantId)
      return resolveVoucher(sql, loaders.group, caller.token, at, name, issueRedemptionToken)
    },
  }),
)
