/**
 * Counts of requests, errors and exports are saved, and added up over instances. The tests of the transports check
 * which requests count.
 */
import { expect, test } from 'vitest'
import { listExports } from '../../src/domain/record/export.ts'
import { createRequestCounter, listRequestCounts, listRequestErrors } from '../../src/domain/token/request-count.ts'
import { createApp } from '../support/app.ts'
import { untilLockWaits } from '../support/locks.ts'
import { onOneDay } from '../support/on-one-day.ts'
import { startService } from '../support/service.ts'
import { tokenRecordsOf } from '../support/token-records.ts'
import { until } from '../support/until.ts'

const { database, build, pool, platform } = await startService()
const { countsOf, errorsOf } = tokenRecordsOf(database)
const tenantId = await build.tenant({ name: 'World' })

const notFound = (reason: string) => ({ code: 'NOT_FOUND', reason })

test('when a save fails, a counter neither loses a count nor saves it twice', async () => {
  const { id } = await build.token([])
  const counter = createRequestCounter(pool)
  counter.count(id, 'ListTenants', 404, [notFound('No such tenant.')])
  await platform`alter table gateway.request_count rename to away`
  await expect(counter.save()).rejects.toThrow()
  counter.count(id, 'ListTenants', 404, [notFound('No such tenant.')])
  counter.count(id, 'ListTenants', 200, [])
  await expect(counter.save()).rejects.toThrow()
  await platform`alter table gateway.away rename to request_count`
  await counter.save()
  await counter.save()
  expect(await countsOf(id)).toEqual({ 'ListTenants 404': 2, 'ListTenants 200': 1 })
  expect(await errorsOf(id)).toEqual({ 'ListTenants NOT_FOUND No such tenant.': 2 })
})

test('the last save also writes the counts that an earlier, concurrent save could not write', async () => {
  const { id } = await build.token([])
  const counter = createRequestCounter(pool)
  counter.count(id, 'ListTenants', 200, [])
  const { saves } = await platform.begin(async sql => {
    await sql`alter table gateway.request_count rename to away`
    const saves = Promise.allSettled([counter.save(), counter.save()])
    await untilLockWaits(platform)
    await platform`
      select pg_cancel_backend(pid) from pg_stat_activity
      where wait_event_type = 'Lock' and query ~ 'request_count.save' and datname = current_database()`
    await sql`alter table gateway.away rename to request_count`
    return { saves }
  })
  expect((await saves).map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
  expect(await countsOf(id)).toEqual({ 'ListTenants 200': 1 })
})

test('a counter adds to the counts of other instances, in any order', async () => {
  const tokens = await Promise.all(Array.from({ length: 100 }, () => build.token([])))
  const counters = Array.from({ length: 8 }, () => createRequestCounter(pool))
  for (let round = 0; round < 5; round++) {
    for (const [index, counter] of counters.entries()) {
      const order = index % 2 ? tokens : tokens.toReversed()
      for (const { id } of order) counter.count(id, 'ListTenants', 404, [notFound('No such tenant.')])
    }
    await Promise.all(counters.map(counter => counter.save()))
  }
  for (const { id } of [tokens[0]!, tokens[99]!]) {
    expect(await countsOf(id)).toEqual({ 'ListTenants 404': 40 })
    expect(await errorsOf(id)).toEqual({ 'ListTenants NOT_FOUND No such tenant.': 40 })
  }
})

test('a counter saves the other counts when a token is deleted', async () => {
  const [gone, there] = [await build.token([]), await build.token([])]
  await platform`delete from gateway.token where id = ${gone.id}`
  const counter = createRequestCounter(pool)
  for (const { id } of [gone, there]) counter.count(id, 'ListTenants', 404, [notFound('No such tenant.')])
  await counter.save()
  expect(await countsOf(there.id)).toEqual({ 'ListTenants 404': 1 })
  expect(await countsOf(gone.id)).toEqual({})
})

test('a counter limits the number of reasons, and counts further reasons as “other”', async () => {
  const { id } = await build.token([])
  const counter = createRequestCounter(pool)
  for (let reason = 0; reason < 10_050; reason++) counter.count(id, 'ListTenants', 404, [notFound(`No. ${reason}`)])
  await counter.save()
  const [row] = await platform`
    select count(*) as rows, sum(requests) filter (where reason = 'other')::bigint as other
    from gateway.request_error where token_id = ${id}`
  expect(row).toEqual({ rows: 10_001, other: 50 })
  expect(await countsOf(id)).toEqual({ 'ListTenants 404': 10_050 })
  expect(await listRequestErrors(pool, id, 2)).toHaveLength(100)
})

test('the service deletes counts that are older than 90 days', () =>
  onOneDay(async () => {
    const { id } = await build.token([])
    await platform`insert into gateway.request_count
    select ${id}, (now() at time zone 'UTC')::date - age, 'ListTenants', 404, 1 from unnest(array[0, 1, 90, 91]) age`
    await platform`insert into gateway.request_error
    select ${id}, (now() at time zone 'UTC')::date - age, 'ListTenants', 'NOT_FOUND', 'No.', 1, now()
    from unnest(array[0, 1, 90, 91]) age`
    await platform`insert into gateway.token_export
    select ${id}, (now() at time zone 'UTC')::date - age, ${tenantId}, 1, now() from unnest(array[0, 1, 90, 91]) age`
    const requests = async (days: number) => {
      const [counts, errors] = [await listRequestCounts(pool, id, days), await listRequestErrors(pool, id, days)]
      const exported = await listExports(pool, id, days)
      return [counts.length, errors.reduce((sum, row) => sum + row.requests, 0), exported.length].join()
    }
    expect(await Promise.all([1, 2, 91, 92].map(requests))).toEqual(['1,1,1', '2,2,2', '3,3,3', '4,4,4'])
    const client = await createApp(database)
    await until('the oldest is gone', async () => (await requests(1000)) === '3,3,3', 5_000)
    await client.app.close()
  }))

test('exports of personal data are listed by day and tenant, newest first', () =>
  onOneDay(async () => {
    const { id } = await build.token([])
    const gone = 987_654_321
    await platform`insert into gateway.token_export (token_id, day, tenant_id, records, last_at)
    select ${id}, (now() at time zone 'UTC')::date - age, tenant, 5, now() - make_interval(days => age)
    from (values (0, ${tenantId}::bigint), (1, ${gone}), (40, ${tenantId})) row(age, tenant)`
    expect(await listExports(pool, id, 30)).toMatchObject([
      { tenantId, tenantName: 'World', records: 5 },
      { tenantId: gone, tenantName: null, records: 5 },
    ])
  }))
