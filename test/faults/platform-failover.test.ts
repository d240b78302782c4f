/**
 * The server of a platform fails over: the gateway's copy follows the new primary, which has not received the last
 * changes of the former primary.
 */
import { expect, test } from 'vitest'
import { venuesFolder, venuesTables } from '../adopt/venues.ts'
import { afterFile } from '../support/cleanups.ts'
import { run, serve } from '../support/process.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'
import { startFaultServer, startStandby } from './support/start.ts'

const primary = await startFaultServer({ wal_level: 'logical', synchronous_commit: 'on' })
const gateway = await startFaultServer()
let current = primary
const proxy = await startProxy(() => current.port)
const records = gateway.open('gateway')
afterFile(async () => {
  await records.end()
  proxy.stop()
})

const venue = '00000000-0000-0000-0000-000000000001'
const PLATFORM_URL = `postgres://postgres@127.0.0.1:${proxy.port}/shop`
const environment = { DATABASE_URL: gateway.url('gateway'), PLATFORM_URL, LOG_LEVEL: 'fatal' }
const write = (statements: string) => current.use('shop', sql => sql.unsafe(statements).simple())
const insertCardSql = (no: string) =>
  `insert into shop."Gift Card" ("No", venue, code, "valueCents") values ('${no}', '${venue}', 'CODE-${no}', 5000)`
const follows = (references: string[]) =>
  until(
    `the records are ${references}`,
    async () => {
      const rows = await records<{ reference: string }[]>`select reference from gateway.voucher order by reference`
      return rows.map(({ reference }) => reference).join() === references.map(no => `CODE-${no}`).join()
    },
    60_000,
  )

test('the copy of the gateway follows a standby that is promoted', async () => {
  await primary.use('postgres', sql => sql`create database shop`)
  await gateway.use('postgres', sql => sql`create database gateway`)
  await write(venuesTables)
  await write(
    `insert into shop.venue (id, path, name) values ('${venue}', 'main', 'Main'); ${insertCardSql('A')}; ${insertCardSql('B')}`,
  )
  const standby = await startStandby(primary)
  expect(await run(['adopt', 'apply', venuesFolder], environment)).toMatchObject({ code: 0 })
  const service = await serve(environment)
  await write(insertCardSql('C'))
  await follows(['A', 'B', 'C'])
  const [sent] = await primary.use('shop', sql => sql`select pg_current_wal_lsn()::text as position`)
  await until('the standby has the card', () =>
    standby.use('shop', async sql => {
      const [row] = await sql`select pg_last_wal_replay_lsn() >= ${sent?.position}::text::pg_lsn as has`
      return row?.has === true
    }),
  )
  // The standby never receives these changes, but partners have read them.
  await standby.stop()
  await write(`${insertCardSql('D')}; delete from shop."Gift Card" where "No" = 'A'`)
  await follows(['B', 'C', 'D'])
  await primary.stop('SIGQUIT')
  await standby.start()
  await standby.use('shop', sql => sql`select pg_promote()`)
  current = standby
  proxy.cut()
  await write(insertCardSql('E'))
  await follows(['A', 'B', 'C', 'E'])
  await write(insertCardSql('F'))
  await follows(['A', 'B', 'C', 'E', 'F'])
  expect(await run(['verify'], environment)).toMatchObject({ code: 0 })
  await service.stop('SIGKILL')
})
