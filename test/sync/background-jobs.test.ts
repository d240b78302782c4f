import { expect, test } from 'vitest'
import { readConfig } from '../../src/config.ts'
import { connect, serviceRole } from '../../src/db/connect.ts'
import { buildServer } from '../../src/server.ts'
import { createDatabase } from '../support/database.ts'
import { collectLog } from '../support/log.ts'

const { address, platform } = await createDatabase()

test('a service that closes processes no further part of the stamp queue', async () => {
  await platform`insert into gateway.stamp_queue (product_id) select n from generate_series(1, 100000) as n`
  const { log, lines } = collectLog()
  const pool = connect(address, { max: 4, statementTimeoutMs: 10_000, role: serviceRole })
  const app = await buildServer({ config: readConfig({ LOG_LEVEL: 'warn' }), pool, log })
  const left = async () =>
    (await platform<{ count: number }[]>`select count(*)::integer as count from gateway.stamp_queue`)[0]?.count
  await expect.poll(left, { timeout: 10_000 }).toBeLessThan(100_000)
  await app.close()
  await pool.end({ timeout: 5 })
  await left()
  expect(lines()).toEqual([])
})
