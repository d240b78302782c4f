// The service, PostgreSQL and browsers must agree on the valid time zones and their offsets.
import { expect, test } from 'vitest'
import { arrayText, type Sql } from '../../src/db/sql.ts'
import { createDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'

const instants = Array.from({ length: 24 }, (_, half) => new Date(Date.UTC(2024, half / 2, half % 2 ? 16 : 1, 12)))

/**
 * Returns the offset of a time zone at each of `instants`, in minutes, by the data of browsers; null for an unknown
 * time zone.
 */
function offsetsInBrowsers(timeZone: string): number[] | null {
  try {
    const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
    return instants.map(instant => {
      const [, sign = '', hours = 0, minutes = 0] = /GMT(?:([+-])(\d+):(\d+))?/.exec(format.format(instant)) ?? []
      return Number(`${sign}${Number(hours) * 60 + Number(minutes)}`)
    })
  } catch {
    return null
  }
}

/**
 * Compares the offsets of all time zones that the server or browsers know.
 *
 * @returns the names that the service rejects for a tenant
 */
async function compareOffsets(sql: Sql): Promise<string[]> {
  const names = [...Intl.supportedValuesOf('timeZone'), 'cet', 'europe/BERLIN']
  const rows = await sql<{ name: string; offsets: number[] | null }[]>`
    select name, case when gateway.is_time_zone(name) then array_to_json(array(
        select extract(epoch from (at at time zone gateway.time_zone(name)) - (at at time zone 'UTC')) / 60
        from unnest(${arrayText(instants.map(instant => instant.toISOString()))}::text::timestamptz[]) with ordinality as instant (at, place) order by place)) end as offsets
    from (select name from pg_timezone_names union select unnest(${arrayText(names)}::text::text[])) known order by name`
  for (const { name, offsets } of rows) {
    if (offsets) expect([name, offsetsInBrowsers(name)]).toEqual([name, offsets])
  }
  return rows.flatMap(({ name, offsets }) => (offsets ? [] : [name]))
}

test('the server and browsers have the same offsets for each time zone', async () => {
  const { platform, pool } = await createDatabase()
  // The packaged server uses the time zone files of the system, which also have names with `posix/`.
  const refused = (await compareOffsets(platform)).filter(name => !name.startsWith('posix/'))
  expect(['Factory', 'localtime', 'posixrules']).toEqual(expect.arrayContaining(refused))
  expect(refused).toContain('Factory')
  const others = ['BST', 'IST', 'PST', 'CEST', 'PST8', 'Europe/Berlinn+3', 'Etc/GMT+13', '+02:00', 'localtime', '']
  await platform`insert into tenant (name, time_zone) select 'Shop', unnest(${arrayText(others)}::text::text[])`
  await projected(pool)
  const rejected = await pool<{ reason: string }[]>`select reason from gateway.rejected order by key::bigint`
  expect(rejected.map(({ reason }) => reason)).toEqual(others.map(name => `time_zone is no IANA name: ${name}`))
})
