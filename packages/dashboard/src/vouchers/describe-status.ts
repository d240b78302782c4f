import { formatDay, formatMoney } from '../format.ts'
import type { ShownVoucher } from './voucher.ts'

type Described = Pick<
  ShownVoucher,
  'status' | 'currency' | 'initialBalance' | 'currentBalance' | 'dateValidStart' | 'dateValidEnd' | 'isMonetary'
>

/** Returns a sentence about how a voucher can be used, or why it cannot (R25). */
export function describeStatus(voucher: Described): string {
  const { status, currency, initialBalance, currentBalance, dateValidStart, dateValidEnd } = voucher
  const money = (amount: number | null) => (amount === null ? 'an unknown amount' : formatMoney(amount, currency))
  const until = dateValidEnd === null ? 'It does not expire.' : `It is valid until ${formatDay(dateValidEnd)}.`
  switch (status) {
    case null:
      return 'Its status could not be read.'
    case 'VOID':
      return 'It was voided: it cannot be redeemed.'
    case 'NOT_YET_VALID':
      return `It is valid from ${dateValidStart === null ? 'a later day' : formatDay(dateValidStart)} on.`
    case 'EXPIRED':
      return `Its last valid day was ${dateValidEnd === null ? 'unknown' : formatDay(dateValidEnd)}. ${
        currentBalance === null ? 'It was not redeemed.' : `${money(currentBalance)} was left on it.`
      }`
    case 'REDEEMED':
      return currentBalance ? 'It was redeemed.' : 'Nothing is left on it.'
    case 'PART_REDEEMED':
      return `${money(currentBalance)} of ${money(initialBalance)} is left on it. ${until}`
    case 'REDEEMABLE':
      return `${currentBalance === null ? 'It has not been redeemed.' : `All of ${money(currentBalance)} is left on it.`} ${until}`
  }
}
