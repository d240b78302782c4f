import type { VoucherStatus } from '../operations.ts'

/** The statuses of vouchers, in the order of the service: a voucher has the first that applies (R25). */
const described: Record<VoucherStatus, { words: string; tone: 'good' | 'warn' | 'bad' | '' }> = {
  VOID: { words: 'Void', tone: 'bad' },
  REDEEMED: { words: 'Redeemed', tone: '' },
  EXPIRED: { words: 'Expired', tone: 'warn' },
  NOT_YET_VALID: { words: 'Not yet valid', tone: 'warn' },
  PART_REDEEMED: { words: 'Partly redeemed', tone: 'good' },
  REDEEMABLE: { words: 'Redeemable', tone: 'good' },
}

/** All statuses, in the order in which they are shown. */
export const statuses = Object.keys(described) as VoucherStatus[]

/** Returns a status in words; a status that could not be read is unknown. */
export const nameStatus = (status: VoucherStatus | null): string => (status ? described[status].words : 'Unknown')

/** Returns the class of the badge of a status. */
export const toneOf = (status: VoucherStatus | null): string => (status ? described[status].tone : '')
