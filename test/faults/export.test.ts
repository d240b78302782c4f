/** Tests bulk exports whose readers stop reading, or whose tokens lose rights. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, expect, test } from 'vitest'
import type postgres from '#postgres'
import { openExport } from '../export/support.ts'
import { until } from '../support/until.ts'
import { isShort } from './support/form.ts'
import { startWorld } from './support/start.ts'
import { writeRecords } from './support/world.ts'

const { server, world, start } = await startWorld('exports')
const owner = world.owners[0]!
const sql: postgres.Sql = server.open(world.database, 2)
afterAll(() => sql.end())
/** The number of records: an export of them has more bytes than the kernel buffers for a connection. */
const added = 30_000
await sql`
  insert into purchased_voucher (tenant_id, reference, product_title)
  select ${owner.tenantId}, 'EXPORT-' || n, repeat('title ', 300) from generate_series(1, ${added}::int) n`
await writeRecords(server, world.database)
const { origin } = await start({ EXPORTS_PER_HOUR: '1000' })

/** Opens an export once the lease of the previous export has ended, and stops reading after the first records. */
async function openStalled() {
  const begin = async () => {
    const open = await openExport(origin, owner.secret, `/tenants/${owner.tenantId}/purchased-vouchers`)
    return open.status === 200 ? open : null
  }
  const open = await until('an export begins', begin, 65_000)
  await until('the first records arrive', () => open.text().includes('"id"'))
  open.body.pause()
  return open
}

// The test waits for most of a minute.
test.skipIf(isShort)('an export whose reader stops is closed within 65 s', async () => {
  const open = await openStalled()
  const leases = () => sql`select 1 from gateway.rate_window where key like 'export stream %'`
  await until('the lease ends', async () => (await leases()).length === 0, 65_000)
  open.body.resume()
  expect(await open.ended).toBe('broken')
})

test('an export ends early when its token loses the permission or the tenant', async () => {
  for (const withdraw of [
    () => sql`update gateway.token set permissions = array_remove(permissions, 'view_orders')`,
    () => sql`delete from gateway.token_tenant where tenant_id = ${owner.tenantId}`,
  ]) {
    await sql`update gateway.token set permissions = '{view_vouchers,view_orders}'`
    const open = await openStalled()
    await withdraw()
    await pause(1_000)
    open.body.resume()
    expect(await open.ended).toBe('broken')
  }
})
