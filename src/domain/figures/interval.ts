/** SQL of the intervals of a period, and of what happened in them. */
import { arrayText, type Fragment, type Sql } from '../../db/connect.ts'
import type { FiguresRequest } from './figure.ts'

/** Returns the instant at which a calendar day begins. An hour that is repeated at midnight begins with its first time. */
const startOf = (sql: Sql, day: Fragment): Fragment => sql`
  (select case when ((midnight - interval '1 hour') at time zone zone.name)::date >= ${day}
               then midnight - interval '1 hour' else midnight end
   from (select (${day})::timestamp at time zone zone.name as midnight) local)`

/**
 * Returns the relations of the period.
 *
 * - `zone(name)`: its time zone
 * - `period(place, from_day, to_day, starts_at, ends_at)`: its intervals
 * - `span(starts, starts_at, ends_at)`: the starts of all intervals, and the whole period
 * - `cut_quarter(quarter_hour, starts_at, ends_at)`: the quarter hours within which an interval begins or ends, as far as they
 *   are in the period. There are some where a zone had no standard time yet: local noon was noon by the sun.
 * - `piece(grain, lower, upper)`: the other quarter hours, the hours and the days of UTC of which the period consists
 */
export function periodRelations(sql: Sql, { tenantId, timeZone, intervals, by }: FiguresRequest): Fragment {
  const from = arrayText(intervals.map(interval => interval.from))
  const to = arrayText(intervals.map(interval => interval.to))
  return sql`
  zone as materialized (
    select coalesce(${timeZone}::text, (select time_zone from tenant where id = ${tenantId}::bigint)) as name
  ), period as materialized (
    select place, from_day, to_day, ${startOf(sql, sql`from_day`)} as starts_at, ${startOf(sql, sql`to_day + 1`)} as ends_at
    from zone, unnest(${from}::text::date[], ${to}::text::date[]) with ordinality as interval (from_day, to_day, place)
  ), span as materialized (
    select array_agg(starts_at order by place) as starts, min(starts_at) as starts_at, max(ends_at) as ends_at from period
  ), boundary as materialized (
    select starts_at as at from period union select ends_at from period
  ), cut_quarter as materialized (
    select gateway.quarter_hour(at) as quarter_hour,
           greatest(gateway.quarter_hour(at), span.starts_at) as starts_at,
           least(gateway.quarter_hour(at) + interval '15 minutes', span.ends_at) as ends_at
    from span, boundary
    where at <> gateway.quarter_hour(at)
  ), piece as materialized (
    select grain, lower, upper from ${by === 'DAY' ? piecesOfDays(sql) : piecesOfIntervals(sql)}
    where lower < upper
  )`
}

/** Days of a zone consist of hours: one range of them. When a day begins within an hour, quarter hours are at its ends. */
const piecesOfDays = (sql: Sql): Fragment => sql`
    (select 'hour' as grain, starts_at as lower, ends_at as upper from span where not ${beginsWithinHour(sql)}
     union all
     select ranges.* from ${wholeHours(sql)} cross join lateral (values
       ('quarter_hour', first_quarter_hour, least(first_hour, last_quarter_hour)),
       ('hour', first_hour, last_hour),
       ('quarter_hour', greatest(first_hour, last_hour), last_quarter_hour)) ranges (grain, lower, upper)
     where ${beginsWithinHour(sql)}) ranges`

const beginsWithinHour = (sql: Sql): Fragment =>
  sql`exists (select from boundary where at <> date_trunc('hour', at, 'UTC'))`

/** Most of an interval consists of whole days in UTC; hours are at its ends, and quarter hours at theirs. */
const piecesOfIntervals = (sql: Sql): Fragment => sql`
    (select *, ${atOrAfter(sql, 'day', sql`starts_at`)} as first_day, date_trunc('day', ends_at, 'UTC') as last_day
     from ${wholeHours(sql)}) interval
    cross join lateral (values
      ('quarter_hour', first_quarter_hour, least(first_hour, last_quarter_hour)),
      ('hour', first_hour, least(first_day, last_hour)),
      ('day', first_day, last_day),
      ('hour', greatest(first_day, last_day), last_hour),
      ('quarter_hour', greatest(first_hour, last_hour), last_quarter_hour)) ranges (grain, lower, upper)`

/** The first and the last whole hour and quarter hour of each interval; a day that a zone skipped has none. */
const wholeHours = (sql: Sql): Fragment => sql`
    (select period.*,
            gateway.quarter_hour(starts_at + interval '15 minutes' - interval '1 microsecond') as first_quarter_hour,
            gateway.quarter_hour(ends_at) as last_quarter_hour,
            ${atOrAfter(sql, 'hour', sql`starts_at`)} as first_hour, date_trunc('hour', ends_at, 'UTC') as last_hour
     from period) period`

/** Returns the first instant at or after another at which an hour or a day begins in UTC. */
const atOrAfter = (sql: Sql, unit: 'hour' | 'day', instant: Fragment): Fragment =>
  sql`date_trunc(${unit}::text, ${instant} + ${`1 ${unit}`}::text::interval - interval '1 microsecond', 'UTC')`

/**
 * Returns a relation of what is in the intervals: `place`, `currency`, `state` and sums, from rollups and deltas. It lacks
 * what is in `cut_quarter`, which has to be counted from the records.
 *
 * `offset 0` keeps the range of each source a scan of an index: the planner cannot know how few rows it has.
 *
 * @param kind of `gateway.figure_rollup`
 */
export const inIntervals = (sql: Sql, kind: string): Fragment => sql`
    select place, currency, state, sign * sum(records) as records, sign * sum(initial) as initial,
           sign * sum(balance) as balance, sign * sum(paid) as paid
    from (
      select width_bucket(at, starts) as place, currency, state, sign, records, initial, balance, paid
      from span, source cross join piece cross join lateral (
        select at, currency, state, records, initial, balance, paid from gateway.figure_rollup rollup
        where rollup.tenant_id = source.tenant_id and rollup.with_descendants = source.with_descendants
          and kind = ${kind}::text and rollup.grain = piece.grain and at >= lower and at < upper offset 0
      ) folded
    ) placed group by place, currency, state, sign
    union all
    select width_bucket(at, starts), currency, state, records, initial, balance, paid
    from span, granted join gateway.figure_delta delta on delta.tenant_id = granted.id
    where kind = ${kind}::text and at >= span.starts_at and at < span.ends_at
      and not exists (select from cut_quarter where quarter_hour = at)`

/** Returns the members of a JSON object that say which interval it is. */
export const intervalMembers = (sql: Sql): Fragment => sql`
  'from', from_day, 'to', to_day, 'start', ${instantText(sql, sql`starts_at`)}, 'end', ${instantText(sql, sql`ends_at`)}`

/** Returns the text of an instant (R13). */
export const instantText = (sql: Sql, instant: Fragment): Fragment =>
  sql`to_char(${instant} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`
