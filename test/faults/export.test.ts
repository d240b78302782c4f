/** Bulk exports whose readers stop, whose tokens lose rights, and whose service stops or is killed. */
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, test } from 'vitest'
import type postgres from '#postgres'
import { openExport, readLines } from '../export/support.ts'
import { until } from '../support/until.ts'
import { isShort } from './support/form.ts'
import { startWorld } from './support/start.ts'
import { writeRecords } from './support/world.ts'

const { server, world, start: serve } = await startWorld('exports')
const owner = world.owners[0]!
const sql: postgres.Sql = server.open(world.database, 2)
afterAll(() => sql.end())
/** Many chunks, with more bytes than the kernel buffers for a connection. */
const added = 30_000
await sql`
  insert into purchased_voucher (tenant_id, reference, product_title)
  select ${owner.tenantId}, 'EXPORT-' || n, repeat('title ', 300) from generate_series(1, ${added}::int) n`
await writeRecords(server, world.database)
const [counted] = await sql<{ total: number }[]>`
  select count(*)::integer as total from purchased_voucher where tenant_id = ${owner.tenantId}`
const path = `/tenants/${owner.tenantId}/purchased-vouchers`
const start = () => serve({ EXPORTS_PER_HOUR: '1000' })

/** Opens an export once the lease of the export before has ended. */
const openNext = (origin: string, query = '') =>
  until(
    'an export begins',
    async () => {
      const open = await openExport(origin, owner.secret, path + query)
      return open.status === 200 ? open : null
    },
    65_000,
  )

/** Opens an export whose reader stops after the first records. */
async function openStalled(origin: string) {
  const open = await openNext(origin)
  await until('the first records arrive', () => open.text().includes('"id"'))
  open.body.pause()
  return open
}

/** Reads the rest of an export behind the last cursor. @returns the number of distinct records in both parts */
async function complete(origin: string, text: string): Promise<number> {
  const cursor = readLines(text).cursors.at(-1)
  const known = text.slice(0, text.lastIndexOf('{"cursor"'))
  const ids = cursor === undefined ? [] : readLines(known).records.map(({ id }) => id)
  const open = await openNext(origin, cursor === undefined ? '' : `?cursor=${cursor}`)
  expect(await open.ended).toBe('whole')
  const all = [...ids, ...readLines(open.text()).records.map(({ id }) => id)]
  expect(new Set(all).size).toBe(all.length)
  return all.length
}

describe('an export', () => {
  // It waits for most of a minute.
  test.skipIf(isShort)(
    'whose reader stops is closed within 65 s',
    async () => {
      const service = await start()
      const { origin } = new URL(service.restAddress)
      const open = await openStalled(origin)
      const leases = () => sql`select 1 from gateway.rate_window where key like 'export stream %'`
      await until('the lease ends', async () => (await leases()).length === 0, 65_000)
      open.body.resume()
      expect(await open.ended).toBe('broken')
      await service.stop('SIGTERM')
    },
    90_000,
  )

  test.each([
    ['SIGTERM', { 'accept-encoding': 'gzip' }],
    ['SIGTERM', {}],
    ['SIGKILL', {}],
  ] as const)(
    'goes on after %s, with %j',
    async (signal, headers) => {
      const service = await start()
      const open = await openExport(new URL(service.restAddress).origin, owner.secret, path, headers)
      await until('a chunk has arrived', () => open.text().includes('"cursor"'))
      const from = performance.now()
      const code = await service.stop(signal)
      expect(performance.now() - from).toBeLessThan(10_000)
      expect(code).toBe(signal === 'SIGTERM' ? 0 : null)
      expect(await open.ended).toBe('broken')
      expect(open.text()).not.toContain('"end"')
      const next = await start()
      expect(await complete(new URL(next.restAddress).origin, open.text())).toBe(counted?.total)
      await next.stop('SIGTERM')
    },
    60_000,
  )

  test('is broken off when its token loses a permission or the tenant', async () => {
    const service = await start()
    const { origin } = new URL(service.restAddress)
    const [token] = await sql<{ id: string }[]>`
      select token_id as id from gateway.token_tenant where tenant_id = ${owner.tenantId}`
    const id = token?.id ?? ''
    for (const [withdraw, restore] of [
      [
        () => sql`update gateway.token set permissions = '{view_vouchers}' where id = ${id}`,
        () => sql`update gateway.token set permissions = '{view_vouchers,view_orders}' where id = ${id}`,
      ],
      [() => sql`delete from gateway.token_tenant where token_id = ${id}`, () => Promise.resolve()],
    ] as const) {
      const open = await openStalled(origin)
      await withdraw()
      await pause(1_000)
      open.body.resume()
      expect(await open.ended).toBe('broken')
      await restore()
    }
    await service.stop('SIGTERM')
  }, 60_000)
})
