import { referenceOf } from './voucher-code.ts'

/** The demo tenant, a group with six venues below it, and a redeemable voucher of its own; the same at any scale. */
export const demoTenant = { tenantId: 1, voucherReference: referenceOf(0) }
