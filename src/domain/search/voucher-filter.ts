/** The filters of vouchers by their status and by the days on which they are valid. */
import type { Fragment, Sql } from '../../db/connect.ts'
import type { VoucherStatus } from '../record/voucher-status.ts'
import { dateRange, type FilterEffect, type FilterField, type IndexRange, readDates } from './field.ts'
import type { ColumnValues, Order } from './order.ts'

const stateColumn = 'state'

/** The part of the status that does not depend on the day, with its values (`gateway.voucher_state`). */
const voucherStates: ColumnValues = { column: stateColumn, values: ["'void'", "'redeemed'", "'part'", "'full'"] }

/** The last day on which a voucher is valid: one that does not expire ends at infinity. */
const lastValidDay = 'date_valid_end'

/** The order by the end of the validity, whose index begins with the state. */
export const byEnd: Order = {
  key: lastValidDay,
  type: 'date',
  nullable: false,
  description:
    'By `dateValidEnd`. A voucher that does not expire comes after all that do, and before them when descending.',
  columnValues: voucherStates,
}

/** The order of the index of the days on which vouchers begin to be valid. */
const byStart = { key: 'date_valid_start' }

const notVoid = voucherStates.values.filter(state => state !== "'void'")

/** The states of the vouchers that have a status on a day on which they are valid. */
const stateOf: Partial<Record<VoucherStatus, string>> = {
  REDEEMED: "'redeemed'",
  PART_REDEEMED: "'part'",
  REDEEMABLE: "'full'",
}

/** The order by the end of the vouchers in some states. */
const endOf = (states: readonly string[]): Order => ({ ...byEnd, columnValues: { ...voucherStates, values: states } })

const inStates = (sql: Sql, states: readonly string[]) => sql.unsafe(`${stateColumn} = any(array[${states.join()}])`)

// The planner does not know a tenant's day when it estimates; the days of the outermost time zones it does.
const earliestToday = "(now() at time zone 'Etc/GMT+12')::date"
const latestToday = "(now() at time zone 'Etc/GMT-14')::date"

/**
 * Returns the vouchers that have one of several statuses on the day at their tenant, by the rules of a resolution (R25).
 * A voucher never ends before it begins, so one that has expired has begun.
 */
export function hasStatus(wanted: readonly VoucherStatus[]): FilterEffect {
  const live = wanted.flatMap(status => stateOf[status] ?? [])
  const groups: { states: readonly string[]; where: (sql: Sql) => Fragment; range?: IndexRange }[] = []
  if (wanted.includes('VOID')) groups.push({ states: ["'void'"], where: sql => sql`true` })
  if (wanted.includes('NOT_YET_VALID')) {
    const where = (sql: Sql) => sql.unsafe(`date_valid_start > owner.today and date_valid_start > ${earliestToday}`)
    groups.push({ states: notVoid, where, range: { order: byStart, where } })
  }
  if (wanted.includes('EXPIRED')) {
    const where = (sql: Sql) => sql.unsafe(`${lastValidDay} < owner.today and ${lastValidDay} < ${latestToday}`)
    groups.push({ states: notVoid, where, range: { order: endOf(notVoid), where } })
  }
  if (live.length > 0) {
    const ends = (sql: Sql) => sql.unsafe(`${lastValidDay} >= owner.today and ${lastValidDay} >= ${earliestToday}`)
    groups.push({
      states: live,
      where: sql => sql`(date_valid_start is null or date_valid_start <= owner.today) and ${ends(sql)}`,
      range: { order: endOf(live), where: ends },
    })
  }
  const states = voucherStates.values.filter(state => groups.some(group => group.states.includes(state)))
  const all: IndexRange = { order: endOf(states), where: sql => sql`true` }
  return {
    columnValues: { column: stateColumn, values: states },
    range: (groups.length === 1 && groups[0]?.range) || all,
    where: sql => {
      const [first, ...others] = groups.map(group => sql`${inStates(sql, group.states)} and ${group.where(sql)}`)
      if (!first) return sql`false`
      if (others.length === 0) return first
      const any = others.reduce((all, group) => sql`${all} or (${group})`, sql`(${first})`)
      return sql`${inStates(sql, states)} and (${any})`
    },
  }
}

/** The vouchers that are valid on a day of a range, or on several, as far as their dates say. */
export const validOn: FilterField = {
  kind: 'dates',
  description: 'Vouchers that are valid on at least one day of this range, as far as their dates say.',
  read(given, report) {
    const { from, to } = readDates(given, report)
    const ends = (sql: Sql) => sql`${sql.unsafe(lastValidDay)} >= ${from}::text::date`
    return {
      where: sql => sql`
        ${from === null ? sql`true` : ends(sql)}
        and ${to === null ? sql`true` : sql`(date_valid_start is null or date_valid_start <= ${to}::text::date)`}`,
      ...(from !== null && { range: { order: byEnd, where: ends } }),
    }
  },
}

const untilRange = dateRange(
  byEnd,
  'Vouchers whose last valid day lies in this range. Those that do not expire are not included.',
)

/** The vouchers whose last valid day lies in a range. */
export const validUntil: FilterField = {
  ...untilRange,
  read(...given) {
    const effect = untilRange.read(...given)
    const where = (sql: Sql) =>
      sql`${sql.unsafe(`${lastValidDay} < 'infinity'`)} and ${effect?.where(sql) ?? sql`true`}`
    return effect && { where, range: { order: byEnd, where } }
  },
}
