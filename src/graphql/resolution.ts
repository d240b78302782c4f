import { orNotFound } from '../domain/errors.ts'
import {
  type Resolution as ResolutionRow,
  type ResolutionTenant as ResolutionTenantRow,
  type ResolvedVoucher as ResolvedVoucherRow,
  resolutionTenantColumns,
  resolvedColumns,
  resolveVoucher,
} from '../domain/record/resolution.ts'
import { readVoucherName } from '../domain/record/voucher-name.ts'
import { builder } from './builder.ts'
import { exposeColumns } from './columns.ts'
import { recordComplexity } from './complexity.ts'
import { requireTenantId } from './record-id.ts'

const statusDescription = '`redeemable` or `not_redeemable`.'
const reasonDescription =
  'Why it cannot be redeemed, the first that applies: `void`, `not_yet_valid`, `expired`, `redeemed`, `no_balance`.'

const ResolvedVoucher = builder.objectRef<ResolvedVoucherRow>('ResolvedVoucher').implement({
  description: 'A voucher as a point of sale needs it.',
  fields: t => ({
    ...exposeColumns(t, resolvedColumns),
    status: t.exposeString('status', { description: statusDescription }),
    reasonCode: t.exposeString('reasonCode', { nullable: true, description: reasonDescription }),
  }),
})

const ResolutionTenant = builder.objectRef<ResolutionTenantRow>('ResolutionTenant').implement({
  description: 'The tenant at which a voucher was resolved, and the one that owns the voucher.',
  fields: t => exposeColumns(t, resolutionTenantColumns),
})

const Resolution = builder.objectRef<ResolutionRow>('Resolution').implement({
  description: 'The result of resolving a voucher at a tenant.',
  fields: t => ({
    status: t.exposeString('status', { description: statusDescription }),
    reasonCode: t.exposeString('reasonCode', { nullable: true, description: reasonDescription }),
    voucher: t.expose('voucher', { type: ResolvedVoucher, description: 'The voucher.' }),
    tenant: t.expose('tenant', {
      type: ResolutionTenant,
      description: 'The tenant at which it was resolved, and its owner.',
    }),
    redemptionToken: t.exposeString('redemptionToken', {
      nullable: true,
      description:
        'The token for the redemption. It is shown once and expires soon. Null when the voucher is not redeemable.',
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
    resolve: async (_, { input }, { sql, loaders, caller, scope, fieldErrors, redemptionTokenTtl }) => {
      const name = readVoucherName(input, fieldErrors)
      const at = requireTenantId(input.tenantId)
      const path = orNotFound('tenant')(await scope.findPath(at))
      return resolveVoucher(sql, loaders.group, caller.token, at, path, name, redemptionTokenTtl)
    },
  }),
)
