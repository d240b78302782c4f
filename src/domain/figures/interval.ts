/** Builds the SQL of the intervals of a period, and of the sums of rollups in these intervals. */
import { arrayText, type Fragment, type RecordSql } from '../../db/sql.ts'
import { instantText } from '../value/instant.ts'
import type { FiguresRequest } from './figure.ts'

/**
 * Returns the SQL of the instant at which a calendar day begins. When a change of the clock repeats midnight, the day
 * begins at the first midnight.
 */
const dayStart = (sql: RecordSql, day: Fragment): Fragment => sql`
  (select case when ((midnight - interval '1 hour') at time zone zone.sql_name)::date >= ${day}
               then midnight - interval '1 hour' else midnight end
   from (select (${day})::timestamp at time zone zone.sql_name as midnight) local)`

/**
 * Returns the relations of the period.
 *
 * - `zone(name, sql_name)`: the time zone of the request, and the name of the zone for `at time zone`
 * - `period(place, from_day, to_day, starts_at, ends_at)`: the intervals of the request
 * - `span(starts, starts_at, ends_at)`: the array of the starts of all intervals, and the start and the end of the
 *   whole period
 * - `part(grain, lower, upper)`: the ranges for which rollups are read. An interval has ranges of whole days of UTC; at
 *   both of its ends it has ranges of three hours and of half an hour
 * - `counted(tenant_id, lower, upper)`: the ranges in which the records themselves are counted: for a tenant of
 *   `single` the whole period, for each member of a rollup the half hours within which an interval begins or ends. Such
 *   half hours exist in time zones whose offset is not a multiple of half an hour, such as +05:45, and in any zone
 *   before it had a standard time
 */
export function periodRelations(sql: RecordSql, { tenantId, timeZone, intervals }: FiguresRequest): Fragment {
  const from = arrayText(intervals.map(interval => interval.from))
  const to = arrayText(intervals.map(interval => interval.to))
  return sql`
  zone as materialized (
    select name, case when gateway.has_time_zone_form(name) then gateway.time_zone(name) else 'none' end as sql_name
    from (select coalesce(${timeZone}::text, (select time_zone from gateway.tenant where id = ${tenantId}::bigint)) as name) chosen
  ), period as materialized (
    select place, from_day, to_day, ${dayStart(sql, sql`from_day`)} as starts_at, ${dayStart(sql, sql`to_day + 1`)} as ends_at
    from zone, unnest(${from}::text::date[], ${to}::text::date[]) with ordinality as interval (from_day, to_day, place)
  ), span as materialized (
    select array_agg(starts_at order by place) as starts, min(starts_at) as starts_at, max(ends_at) as ends_at from period
  ), part as materialized (
    select grain::gateway.figure_grain, lower, upper
    from (
      select *, date_trunc('day', first_hours + interval '1 day' - interval '1 microsecond', 'UTC') as first_day,
             date_trunc('day', last_hours, 'UTC') as last_day
      from (
        select *, gateway.three_hours(first + interval '3 hours' - interval '1 microsecond') as first_hours,
               gateway.three_hours(last) as last_hours
        from (select gateway.half_hour(starts_at + interval '30 minutes' - interval '1 microsecond') as first,
                     gateway.half_hour(ends_at) as last from period) half_hours
      ) three_hours
    ) whole cross join lateral (values
      ('half_hour', first, least(first_hours, last)),
      ('three_hours', first_hours, least(first_day, last_hours)),
      ('day', first_day, last_day),
      ('three_hours', greatest(first_day, last_day), last_hours),
      ('half_hour', greatest(first_hours, last_hours), last)) ranges (grain, lower, upper)
    where lower < upper
  ), counted as materialized (
    select tenant_id, starts_at as lower, ends_at as upper from single, span
    union all
    select member.tenant_id, greatest(gateway.half_hour(at), span.starts_at),
           least(gateway.half_hour(at) + interval '30 minutes', span.ends_at)
    from span, (select distinct on (gateway.half_hour(at)) at
                from (select starts_at as at from period union all select ends_at from period) boundary
                where at <> gateway.half_hour(at)) cut,
         rolled join gateway.figure_member member using (ancestor_id)
  )`
}

/**
 * Returns a query for the sums of the rollups in each interval: `place`, `currency`, `state` and sums. The sums do not
 * include the ranges of `counted`.
 *
 * `offset 0` makes PostgreSQL scan an index for each rollup, because the planner expects too many rows of a range.
 *
 * @param kind of `gateway.figure_rollup`
 */
export const selectRollupSums = (sql: RecordSql, kind: string): Fragment => sql`
  select width_bucket(at, starts) as place, currency, state, sum(records) as records, sum(initial) as initial,
         sum(balance) as balance, sum(paid) as paid
  from span, rolled cross join part cross join lateral (
    select at, currency, state, records, initial, balance, paid from gateway.figure_rollup rollup
    where rollup.ancestor_id = rolled.ancestor_id and kind = ${kind}::text::gateway.figure_kind and rollup.grain = part.grain
      and at >= lower and at < upper offset 0
  ) rollup
  group by place, currency, state`

/** Returns the SQL of the members of a JSON object that identify an interval. */
export const intervalMembers = (sql: RecordSql): Fragment => sql`
  'from', from_day, 'to', to_day, 'start', ${instantText(sql, sql`starts_at`)}, 'end', ${instantText(sql, sql`ends_at`)}`
