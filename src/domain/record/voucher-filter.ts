/** The filters of vouchers by their status and by the days on which they are valid. */
import { z } from 'zod'
import {
  type Condition,
  type FilterField,
  type IndexRange,
  inRange,
  nothing,
  parsedOnce,
  readBounds,
} from '../search/field.ts'
import { byValue } from '../search/order.ts'
import { type VoucherStatus, voucherStatusNames } from './voucher-status.ts'

/** The last day on which a voucher is valid: infinity when it does not expire. */
const lastValidDay = 'ends_on'

export const byEnd = byValue(
  lastValidDay,
  'date',
  'By `dateValidEnd`. Vouchers that do not expire come last, or first when descending.',
)

/** The states (`gateway.voucher_state`) of the statuses of valid vouchers. */
const stateOf: Partial<Record<VoucherStatus, string>> = { PART_REDEEMED: 'part', REDEEMABLE: 'full' }

/** The states of vouchers on which something is left: only their status depends on the day (R25). */
const live = Object.values(stateOf)

const begins = 'date_valid_start > owner.today'
const hasBegun = '(date_valid_start is null or date_valid_start <= owner.today)'
const ended = `${lastValidDay} < owner.today`
const ends = `${lastValidDay} >= owner.today`

const isIn = (states: readonly string[]) => `state = any('{${states.join()}}')`

const range = (key: string, where: string): IndexRange => ({ key, where: sql => sql.unsafe(where) })

/** Returns the range of vouchers in some states whose end meets a condition; none when the index lacks a state. */
const ofStates = (states: readonly string[], end = 'true'): IndexRange[] =>
  states.every(state => ['void', 'part'].includes(state)) ? [range('state', `${isIn(states)} and ${end}`)] : []

/** Vouchers in some of the states whose days meet a condition. */
interface Group {
  states: readonly string[]
  days: string
  ranges: readonly IndexRange[]
}

/**
 * The vouchers of these statuses; the other statuses are one group. A voucher never ends before it begins, so an
 * expired voucher has begun.
 */
const groupOf: Partial<Record<VoucherStatus, Group>> = {
  VOID: { states: ['void'], days: 'true', ranges: ofStates(['void']) },
  REDEEMED: { states: ['redeemed'], days: 'true', ranges: [] },
  EXPIRED: { states: live, days: ended, ranges: [range(lastValidDay, ended)] },
  NOT_YET_VALID: { states: live, days: begins, ranges: [range('date_valid_start', begins)] },
}

/** The vouchers with one of several statuses on the day at their tenant (R25). An empty list matches nothing. */
export const status: FilterField = {
  kind: 'voucherStatuses',
  description: 'Vouchers that have one of these statuses now.',
  read(given) {
    const names = z.array(z.string()).parse(given)
    const wanted = voucherStatusNames.filter(name => names.includes(name))
    const groups = wanted.flatMap(name => groupOf[name] ?? [])
    const valid = wanted.flatMap(name => stateOf[name] ?? [])
    if (valid.length > 0) {
      const ranges = [range(lastValidDay, ends), ...ofStates(valid, ends)]
      groups.push({ states: valid, days: `${hasBegun} and ${ends}`, ranges })
    }
    const [one, another] = groups
    if (!one) return { where: nothing, ranges: [{ key: '', where: nothing }] }
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
    const notEnded: Condition = sql => sql`${sql.unsafe(lastValidDay)} >= ${parsedOnce(sql, from, 'date')}`
    return {
      where: sql => sql`
        ${from === null ? sql`true` : notEnded(sql)}
        and ${to === null ? sql`true` : sql`(date_valid_start is null or date_valid_start <= ${parsedOnce(sql, to, 'date')})`}`,
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
