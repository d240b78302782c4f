/** The filters of vouchers by their status and by the days on which they are valid. */
import { z } from 'zod'
import {
  type Condition,
  type FilterField,
  type IndexRange,
  inRange,
  matchNothing,
  parseOnce,
  readBounds,
} from '../search/field.ts'
import { byValue } from '../search/order.ts'
import { type VoucherStatus, voucherStatusNames } from './voucher-status.ts'

/** The column with the last day on which a voucher is valid: `infinity` when it does not expire. */
const lastValidDay = 'ends_on'

export const byEnd = byValue(
  lastValidDay,
  'date',
  'By `dateValidEnd`. Vouchers that do not expire come last, or first when descending.',
)

/** The state (`gateway.voucher_state`) of each status that a voucher on a valid day can have. */
const stateOf: Partial<Record<VoucherStatus, string>> = { PART_REDEEMED: 'part', REDEEMABLE: 'full' }

/**
 * The states of vouchers that are neither void nor used up. Only the status of such vouchers depends on the day (R25).
 */
const liveStates = Object.values(stateOf)

const beginsLater = 'date_valid_start > owner.today'
const hasBegun = '(date_valid_start is null or date_valid_start <= owner.today)'
const hasEnded = `${lastValidDay} < owner.today`
const hasNotEnded = `${lastValidDay} >= owner.today`

const isIn = (states: readonly string[]) => `state = any('{${states.join()}}')`

const range = (key: string, where: string): IndexRange => ({ key, where: sql => sql.unsafe(where) })

/**
 * Returns the index range of vouchers in some states whose last valid day meets a condition; no range when the index
 * does not include all of the states.
 */
const ofStates = (states: readonly string[], end = 'true'): IndexRange[] =>
  states.every(state => ['void', 'part'].includes(state)) ? [range('state', `${isIn(states)} and ${end}`)] : []

/** Vouchers in one of `states` whose valid days meet the condition `days`. */
interface Group {
  states: readonly string[]
  days: string
  ranges: readonly IndexRange[]
}

/**
 * The conditions of the statuses of vouchers that cannot be redeemed; the other statuses are one group. A voucher's
 * last valid day is never before its first, so an expired voucher meets no condition of `NOT_YET_VALID`.
 */
const groupOf: Partial<Record<VoucherStatus, Group>> = {
  VOID: { states: ['void'], days: 'true', ranges: ofStates(['void']) },
  REDEEMED: { states: ['redeemed'], days: 'true', ranges: [] },
  EXPIRED: { states: liveStates, days: hasEnded, ranges: [range(lastValidDay, hasEnded)] },
  NOT_YET_VALID: { states: liveStates, days: beginsLater, ranges: [range('date_valid_start', beginsLater)] },
}

/**
 * Filters vouchers by their status on the current day at their tenant (R25). An empty list of statuses matches no
 * voucher.
 */
export const status: FilterField = {
  kind: 'voucherStatuses',
  description: 'Vouchers that have one of these statuses now.',
  read(given) {
    const names = z.array(z.string()).parse(given)
    const wanted = voucherStatusNames.filter(name => names.includes(name))
    const groups = wanted.flatMap(name => groupOf[name] ?? [])
    const valid = wanted.flatMap(name => stateOf[name] ?? [])
    if (valid.length > 0) {
      const ranges = [range(lastValidDay, hasNotEnded), ...ofStates(valid, hasNotEnded)]
      groups.push({ states: valid, days: `${hasBegun} and ${hasNotEnded}`, ranges })
    }
    const [one, another] = groups
    if (!one) return { where: matchNothing, ranges: [{ key: '', where: matchNothing }] }
    const where = groups.map(({ states, days }) => `${isIn(states)} and ${days}`).join(' or ')
    const ranges = another ? ofStates(groups.flatMap(({ states }) => states)) : one.ranges
    return { where: sql => sql.unsafe(`(${where})`), ranges }
  },
}

export const validOn: FilterField = {
  kind: 'dates',
  description: 'Vouchers that are valid on at least one day of this range, by `dateValidStart` and `dateValidEnd`.',
  read(given, report) {
    const { from, to } = readBounds('dates', given, report)
    const notEnded: Condition = sql => sql`${sql.unsafe(lastValidDay)} >= ${parseOnce(sql, from, 'date')}`
    return {
      where: sql => sql`
        ${from === null ? sql`true` : notEnded(sql)}
        and ${to === null ? sql`true` : sql`(date_valid_start is null or date_valid_start <= ${parseOnce(sql, to, 'date')})`}`,
      ranges: from === null ? [] : [{ key: lastValidDay, where: notEnded }],
    }
  },
}

const untilRange = inRange(
  'dates',
  byEnd,
  'Vouchers whose last valid day lies in this range. Vouchers that do not expire are not included.',
)

export const validUntil: FilterField = {
  ...untilRange,
  read(...given) {
    const effect = untilRange.read(...given)
    const where: Condition = sql =>
      sql`${sql.unsafe(`${lastValidDay} < 'infinity'`)} and ${effect?.where(sql) ?? sql`true`}`
    return effect && { where, isRange: true, ranges: [{ key: lastValidDay, where }] }
  },
}
