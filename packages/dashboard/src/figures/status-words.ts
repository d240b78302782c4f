import type { VoucherStatus } from '../operations.ts'

/** The statuses of vouchers in words. */
export const statusWords: Record<VoucherStatus, string> = {
  REDEEMABLE: 'Redeemable',
  PART_REDEEMED: 'Partly redeemed',
  REDEEMED: 'Redeemed',
  EXPIRED: 'Expired',
  NOT_YET_VALID: 'Not yet valid',
  VOID: 'Void',
}

/** The classes of the badges of statuses. */
export const statusTones: Record<VoucherStatus, 'good' | 'warn' | 'bad' | ''> = {
  REDEEMABLE: 'good',
  PART_REDEEMED: 'good',
  REDEEMED: '',
  EXPIRED: 'warn',
  NOT_YET_VALID: 'warn',
  VOID: 'bad',
}

/** All statuses, in the order in which they are shown. */
export const statuses = Object.keys(statusWords) as VoucherStatus[]

/** Returns a status in words; one that could not be read is unknown. */
export const nameStatus = (status: VoucherStatus | null): string => (status ? statusWords[status] : 'Unknown')
