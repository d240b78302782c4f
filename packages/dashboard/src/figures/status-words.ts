import type { VoucherStatus } from '../operations.ts'

/**
 * The label and the color of each status, in the order of rule R25: the status of a voucher is the first one that
 * applies.
 */
const statusLabels: Record<VoucherStatus, { words: string; tone: 'good' | 'warn' | 'bad' | '' }> = {
  VOID: { words: 'Void', tone: 'bad' },
  REDEEMED: { words: 'Redeemed', tone: '' },
  EXPIRED: { words: 'Expired', tone: 'warn' },
  NOT_YET_VALID: { words: 'Not yet valid', tone: 'warn' },
  PART_REDEEMED: { words: 'Partly redeemed', tone: 'good' },
  REDEEMABLE: { words: 'Redeemable', tone: 'good' },
}

/** All statuses, in the order in which they are shown. */
export const statuses = Object.keys(statusLabels) as VoucherStatus[]

/** Returns the label of a status; `Unknown` when the status could not be read. */
export const nameStatus = (status: VoucherStatus | null): string => (status ? statusLabels[status].words : 'Unknown')

/** Returns the CSS class with the color of a status; an empty text for no color. */
export const badgeClassOf = (status: VoucherStatus | null): string => (status ? statusLabels[status].tone : '')
