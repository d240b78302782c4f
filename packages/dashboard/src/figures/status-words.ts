import type { VoucherStatus } from '../operations.ts'

/** The statuses of vouchers in words, in the order of the service: a voucher has the first that applies (R25). */
export const statusWords: Record<VoucherStatus, string> = {
  VOID: 'Void',
  REDEEMED: 'Redeemed',
  EXPIRED: 'Expired',
  NOT_YET_VALID: 'Not yet valid',
  PART_REDEEMED: 'Partly redeemed',
  REDEEMABLE: 'Redeemable',
}

/** The classes of the badges of statuses. */
export const statusTones: Record<VoucherStatus, 'good' | 'warn' | 'bad' | ''> = {
  VOID: 'bad',
  REDEEMED: '',
  EXPIRED: 'warn',
  NOT_YET_VALID: 'warn',
  PART_REDEEMED: 'good',
  REDEEMABLE: 'good',
}

/** All statuses, in the order in which they are shown. */
export const statuses = Object.keys(statusWords) as VoucherStatus[]

/** Returns a status in words; a status that could not be read is unknown. */
export const nameStatus = (status: VoucherStatus | null): string => (status ? statusWords[status] : 'Unknown')
