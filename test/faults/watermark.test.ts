import { expect, test } from 'vitest'
import { isShort } from './support/form.ts'
import { startWorld } from './support/start.ts'

const { server, world, start } = await startWorld('watermark', { max_prepared_transactions: '2' })
const service = await start({ LOG_LEVEL: 'info' })

/** The number of warnings that the test waits for. */
const count = isShort ? 1 : 2

/** The warnings so far, and when each was written, in milliseconds since 1970. */
const warnings = () =>
  service
    .printed()
    .split('\n')
    .filter(line => line.includes('prepared transaction month end'))
    .map(line => Number(/"time":(\d+)/.exec(line)?.[1]))

test('the log names a prepared transaction that holds the watermark, once a minute, until it is over', async () => {
  const sql = server.open(world.database)
  await sql`begin`
  await sql`update purchased_voucher set void = true where id = ${world.owners[0]?.voucherIds[0] ?? 0}`
  await sql`prepare transaction 'month end'`
  const prepared = Date.now()
  await expect.poll(warnings, { timeout: 70_000 + 20_000, interval: 500 }).toHaveLength(count)
  const [first = 0, second] = warnings()
  // The service checks for it every five seconds.
  expect(first - prepared).toBeGreaterThanOrEqual(9_000)
  expect(first - prepared).toBeLessThan(20_000)
  if (second !== undefined) expect(second - first).toBeGreaterThanOrEqual(59_000)
  await sql`rollback prepared 'month end'`
  await expect.poll(service.printed, { timeout: 30_000, interval: 100 }).toContain('lists show all changes again')
  expect(warnings()).toHaveLength(count)
  await sql.end()
})
