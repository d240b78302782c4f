// One list of time zones: what a tenant may have, what PostgreSQL reckons with, and what browsers show.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { arrayText, type Sql } from '../../src/db/sql.ts'
import { afterFile } from '../support/cleanups.ts'
import { createDatabase } from '../support/database.ts'
import { isPackagedInstalled, startPackaged } from '../support/packaged-postgres.ts'
import { projected } from '../support/projected.ts'

const instants = Array.from({ length: 24 }, (_, half) => new Date(Date.UTC(2024, half / 2, half % 2 ? 16 : 1, 12)))

/** Returns the offsets of a time zone at these instants in minutes, as browsers know them; null: they know no such zone. */
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

/** Compares all names that the server or browsers know. @returns the names that the server does not accept for a tenant */
async function compare(sql: Sql): Promise<string[]> {
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

test('the embedded server and browsers agree about each time zone', async () => {
  const { platform, pool } = await createDatabase()
  expect(await compare(platform)).toEqual(['Factory'])
  const others = ['BST', 'IST', 'PST', 'CEST', 'PST8', 'Europe/Berlinn+3', 'Etc/GMT+13', '+02:00', 'localtime', '']
  await platform`insert into tenant (name, time_zone) select 'Shop', unnest(${arrayText(others)}::text::text[])`
  await projected(pool)
  const rejected = await pool<{ reason: string }[]>`select reason from gateway.rejected order by key::bigint`
  expect(rejected.map(({ reason }) => reason)).toEqual(others.map(name => `time_zone is no IANA name: ${name}`))
})

// Its files of time zones are those of the system.
test.skipIf(!isPackagedInstalled)('so do a server of Debian and browsers', async () => {
  const { stop, ...address } = await startPackaged()
  afterFile(stop)
  const sql = connect(address, { max: 1, statementTimeoutMs: 60_000 })
  afterFile(() => sql.end())
  for (const file of ['0001.do.schema', '0002.do.value']) {
    await sql.unsafe(readFileSync(new URL(`../../sql/${file}.sql`, import.meta.url), 'utf8'))
  }
  expect((await compare(sql)).filter(name => !name.startsWith('posix/'))).toEqual([
    'Factory',
    'localtime',
    'posixrules',
  ])
})
