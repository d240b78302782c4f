import type { Minor } from './currency.ts'
import type { Draw } from './random.ts'

/** Of a hundred vouchers, before age has its say. */
const shares = [
  ['unredeemed', 34],
  ['part_redeemed', 14],
  ['redeemed', 16],
  ['void', 6],
  ['expired', 10],
  ['not_yet_valid', 6],
  ['scheduled', 6],
  ['no_balance', 4],
  ['sparse', 4],
] as const

/** What has become of a voucher. A sparse one has no more than it must have. */
export type State = (typeof shares)[number][0]

const lots = shares.flatMap(([state, share]) => Array<State>(share).fill(state))

/** What decides which states a voucher can be in. */
export interface Prospects {
  /** Days since it was bought. */
  age: number
  worth: Minor | null
  allowPartRedeem: boolean
}

/** @returns a state that a voucher of this age and kind can be in */
export function drawState(draw: Draw, { age, worth, allowPartRedeem }: Prospects): State {
  const state = draw.pick(lots)
  if (state === 'expired' && age < 60) return 'unredeemed'
  if ((state === 'scheduled' || state === 'not_yet_valid') && age > 365) return 'redeemed'
  if (state === 'part_redeemed' && (worth === null || !allowPartRedeem)) return 'unredeemed'
  if (state === 'no_balance' && worth === null) return 'unredeemed'
  return state
}

/** What a voucher has on it, and what is said of that; none where it has no balance, or is sparse. */
export interface Balance {
  left: Minor | null
  redemptionStatus: 'unredeemed' | 'part_redeemed' | 'redeemed' | null
}

/** @returns a balance that goes with the state: nothing when redeemed, a part of it when redeemed in part */
export function drawBalance(draw: Draw, state: State, { worth, allowPartRedeem }: Prospects): Balance {
  if (state === 'sparse') return { left: null, redemptionStatus: null }
  if (worth === null) return { left: null, redemptionStatus: state === 'redeemed' ? 'redeemed' : 'unredeemed' }
  if (state === 'redeemed') return { left: 0, redemptionStatus: 'redeemed' }
  if (state === 'no_balance') return { left: 0, redemptionStatus: allowPartRedeem ? 'part_redeemed' : 'unredeemed' }
  const mayBeUsed = (state === 'void' || state === 'expired') && allowPartRedeem
  if (state === 'part_redeemed' || (mayBeUsed && draw.percent(25))) {
    return { left: draw.between(1, worth - 1), redemptionStatus: 'part_redeemed' }
  }
  return { left: worth, redemptionStatus: 'unredeemed' }
}
