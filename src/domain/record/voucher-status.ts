/**
 * The columns that decide whether a voucher can be redeemed. A null is an unknown balance, or a period of validity
 * without a first or a last day.
 */
interface Redeemability {
  void: boolean
  redemptionStatus: string | null
  currentBalance: number | null
  dateValidStart: string | null
  dateValidEnd: string | null
}

/**
 * The reasons against a redemption, in their order (R25). Final reasons come first, so a voucher with the reason
 * `expired` is neither void nor used up. `gateway.voucher_state` decides the final statuses in SQL.
 */
const reasons = {
  void: voucher => voucher.void,
  redeemed: ({ redemptionStatus }) => redemptionStatus?.toLowerCase() === 'redeemed',
  no_balance: ({ currentBalance }) => currentBalance !== null && currentBalance <= 0,
  expired: ({ dateValidEnd }, today) => dateValidEnd !== null && today > dateValidEnd,
  not_yet_valid: ({ dateValidStart }, today) => dateValidStart !== null && today < dateValidStart,
} satisfies Record<string, (voucher: Redeemability, today: string) => boolean>

export type ReasonCode = keyof typeof reasons

/** The codes of the reasons; a voucher has the first that applies. */
export const reasonCodes = Object.keys(reasons) as readonly ReasonCode[]

/**
 * Returns the first reason why a voucher cannot be redeemed on a day, or null when it can be redeemed (R25).
 *
 * @param today the calendar day at the tenant that owns the voucher, `YYYY-MM-DD`
 */
export const reasonAgainstRedemption = (voucher: Redeemability, today: string): ReasonCode | null =>
  reasonCodes.find(code => reasons[code](voucher, today)) ?? null

/** The statuses of vouchers with their descriptions, in the order of the reasons. */
export const voucherStatuses = {
  VOID: 'It was voided.',
  REDEEMED: 'It was redeemed, or no balance is left.',
  EXPIRED: "Something is left on it, and its last valid day is over in its tenant's time zone.",
  NOT_YET_VALID: "Something is left on it, and its first valid day has not begun in its tenant's time zone.",
  PART_REDEEMED: 'It can be redeemed, and a part of its balance was redeemed.',
  REDEEMABLE: 'It can be redeemed, and its whole balance is left.',
}

/** The status of a voucher: whether it can be redeemed, and how much of it has been redeemed. */
export type VoucherStatus = keyof typeof voucherStatuses

/** The names of the statuses, in the order in which they are shown everywhere. */
export const voucherStatusNames = Object.keys(voucherStatuses) as readonly VoucherStatus[]

/** The status of a voucher that cannot be redeemed, by reason. */
const statusBecause: Readonly<Record<ReasonCode, VoucherStatus>> = {
  void: 'VOID',
  redeemed: 'REDEEMED',
  no_balance: 'REDEEMED',
  expired: 'EXPIRED',
  not_yet_valid: 'NOT_YET_VALID',
}

/**
 * Returns the status of a voucher on a day, by the rules of a resolution (R25).
 *
 * @param today the calendar day at the tenant that owns the voucher, `YYYY-MM-DD`
 */
export function statusOf(voucher: Redeemability & { initialBalance: number | null }, today: string): VoucherStatus {
  const reason = reasonAgainstRedemption(voucher, today)
  if (reason !== null) return statusBecause[reason]
  const { currentBalance, initialBalance } = voucher
  const isPart = currentBalance !== null && initialBalance !== null && currentBalance < initialBalance
  return isPart ? 'PART_REDEEMED' : 'REDEEMABLE'
}
