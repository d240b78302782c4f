import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { serve } from '../support/process.ts'

test('the service lets V8 compile the classes of the driver when it starts', async () => {
  const { platform, url } = await createDatabase()
  await platform`create extension if not exists pg_stat_statements`
  const service = await serve({ DATABASE_URL: url })
  await service.stop('SIGTERM')
  const sent = await platform`
    select from pg_stat_statements join pg_database on pg_database.oid = dbid
    where datname = current_database() and query ~ 'driver[.]compile'`
  expect(sent.length).toBe(1)
})
