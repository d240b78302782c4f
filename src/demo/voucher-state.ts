import type { MinorUnits } from './currency.ts'
import type { Random } from './random.ts'

/** The share of each state in per cent, before the age of a voucher is considered. */
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

/** The state of a voucher. A sparse one has values only in required columns. */
export type State = (typeof shares)[number][0]

const weightedStates = shares.flatMap(([state, share]) => Array<State>(share).fill(state))

/** A voucher whose state is to be chosen. */
interface Candidate {
  /** Days since the purchase. */
  age: number
  worth: MinorUnits | null
  allowPartRedeem: boolean
}

/** Returns a random state that the voucher can be in. */
export function randomState(random: Random, { age, worth, allowPartRedeem }: Candidate): State {
  const state = random.pick(weightedStates)
  if (state === 'expired' && age < 60) return 'unredeemed'
  if ((state === 'scheduled' || state === 'not_yet_valid') && age > 365) return 'redeemed'
  if (state === 'part_redeemed' && (worth === null || !allowPartRedeem)) return 'unredeemed'
  if (state === 'no_balance' && worth === null) return 'unredeemed'
  return state
}

/** The balance and redemption status of a voucher; null when it has none. */
interface Balance {
  left: MinorUnits | null
  redemptionStatus: 'unredeemed' | 'part_redeemed' | 'redeemed' | null
}

/** Returns a random balance that fits the state: 0 when redeemed, a part when redeemed in part. */
export function randomBalance(random: Random, state: State, { worth, allowPartRedeem }: Candidate): Balance {
  if (state === 'sparse') return { left: null, redemptionStatus: null }
  if (worth === null) return { left: null, redemptionStatus: state === 'redeemed' ? 'redeemed' : 'unredeemed' }
  if (state === 'redeemed') return { left: 0, redemptionStatus: 'redeemed' }
  if (state === 'no_balance') return { left: 0, redemptionStatus: allowPartRedeem ? 'part_redeemed' : 'unredeemed' }
  const mayBeUsed = (state === 'void' || state === 'expired') && allowPartRedeem
  if (state === 'part_redeemed' || (mayBeUsed && random.percent(25))) {
    return { left: random.between(1, worth - 1), redemptionStatus: 'part_redeemed' }
  }
  return { left: worth, redemptionStatus: 'unredeemed' }
}
