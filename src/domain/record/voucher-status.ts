import { type ReasonCode, type Redeemability, reasonAgainst } from './resolution.ts'

/** The statuses of vouchers with their descriptions. The first that applies is the voucher's (R25). */
export const voucherStatuses = {
  VOID: 'It was voided.',
  NOT_YET_VALID: "Its first valid day has not begun in its tenant's time zone.",
  EXPIRED: "Its last valid day is over in its tenant's time zone.",
  REDEEMED: 'It was redeemed, or no balance is left.',
  PART_REDEEMED: 'It can be redeemed, and a part of its balance was redeemed.',
  REDEEMABLE: 'It can be redeemed, and its whole balance is left.',
}

/** The status of a voucher: whether it can be redeemed, and how much of it has been redeemed. */
export type VoucherStatus = keyof typeof voucherStatuses

/** The names of the statuses, in their order of precedence. */
export const voucherStatusNames = Object.keys(voucherStatuses) as readonly VoucherStatus[]

/** The status of a voucher that cannot be redeemed. */
const statusBecause: Readonly<Record<ReasonCode, VoucherStatus>> = {
  void: 'VOID',
  not_yet_valid: 'NOT_YET_VALID',
  expired: 'EXPIRED',
  redeemed: 'REDEEMED',
  no_balance: 'REDEEMED',
}

/**
 * Returns the status of a voucher on a day, by the rules of a resolution (R25).
 *
 * @param today the calendar day at the tenant that owns the voucher, `YYYY-MM-DD`
 */
export function statusOf(voucher: Redeemability & { initialBalance: number | null }, today: string): VoucherStatus {
  const reason = reasonAgainst(voucher, today)
  if (reason !== null) return statusBecause[reason]
  const { currentBalance, initialBalance } = voucher
  const isPart = currentBalance !== null && initialBalance !== null && currentBalance < initialBalance
  return isPart ? 'PART_REDEEMED' : 'REDEEMABLE'
}
