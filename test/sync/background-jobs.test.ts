import { expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { buildServer } from '../../src/server.ts'
import { createBuilders } from '../support/builders.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { createDatabase } from '../support/database.ts'
import { collectLog } from '../support/log.ts'

const database = await createDatabase()
const { address, platform } = database

test('a service that closes makes no further step', async () => {
  const tenant = await createBuilders(database).tenant()
  const size = 20_000
  await platform`
    insert into purchased_voucher (tenant_id, reference) select ${tenant}, n from generate_series(1, ${size}::int) n`
  const { log, lines } = collectLog()
  const pool = connect(address, { max: 4, statementTimeoutMs: 10_000, role: serviceRole })
  const app = await buildServer({ config: readConfig({ LOG_LEVEL: 'warn' }), pool, log })
  const written = async () =>
    (await platform<{ count: number }[]>`select count(*)::integer as count from gateway.voucher`)[0]?.count
  await expect.poll(written).toBeGreaterThan(0)
  await app.close()
  await pool.end({ timeout: 60 })
  expect(await written()).toBeLessThan(size)
  // The last step before the start may be old.
  expect(lines().filter(line => !JSON.stringify(line).includes('STEPS_LATE'))).toEqual([])
})
