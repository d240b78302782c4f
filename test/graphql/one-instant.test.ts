/** Lists, searches, figures, removals and exports with the same stamp show the records of the same step. */
import { expect, test } from 'vitest'
import { exportList } from '../export/support.ts'
import { createClient } from '../support/app.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'

const { build, client, platform, pool } = await startService()
const tenantId = await build.tenant()
const amounts = { currency: 'GBP', initial_balance: 50, current_balance: 20 }
const ids = [await build.voucher(tenantId, amounts), await build.voucher(tenantId, amounts)]
const { secret } = await build.token([tenantId])
// This client runs no steps before its requests.
const reader = createClient(client.app)

const query = `{ tenant(id: ${tenantId}) {
  list: purchasedVouchers { serverTime totalCount nodes { databaseId currentBalance } }
  search: purchasedVouchers(filter: { currency: "GBP" }, orderBy: { field: VALID_UNTIL }) {
    serverTime count { count } nodes { databaseId currentBalance } }
  figures(period: { from: "2026-01-01", to: "2026-01-31" }) { asOf outstanding { vouchers balance } }
  removals { serverTime totalCount }
} }`

/** Reads all answers. @returns the stamps and the balances of the answers */
async function readAll() {
  const { list, search, figures, removals } = (await reader.read(secret, query)).tenant
  const page = (await reader.rest(secret, `/tenants/${tenantId}/sales/purchased-vouchers`)).body
  const exported = await exportList(reader, secret, `/tenants/${tenantId}/purchased-vouchers`)
  const records = [page.data, exported.records].map(vouchers =>
    vouchers.map((of: Record<string, number>) => ({ databaseId: of.id, currentBalance: of.current_balance })),
  )
  for (const vouchers of [search.nodes, ...records]) expect(vouchers).toEqual(list.nodes)
  const [{ vouchers, balance }] = figures.outstanding
  expect([vouchers, search.count.count]).toEqual([list.totalCount, list.totalCount])
  return {
    stamps: new Set([
      ...[list, search, removals].map(({ serverTime }) => serverTime),
      ...[figures.asOf, page.server_time, exported.serverTime],
    ]),
    balances: list.nodes.map(({ currentBalance }: { currentBalance: number }) => currentBalance),
    outstanding: balance,
    removals: removals.totalCount,
  }
}

test('while a step waits, no answer shows the changes; after the step, all answers show them', async () => {
  const before = await platform.begin(async sql => {
    await sql`lock table gateway.step_lock in exclusive mode`
    await platform`update purchased_voucher set current_balance = 30 where id = ${ids[0]!}`
    await platform`delete from purchased_voucher where id = ${ids[1]!}`
    await build.voucher(tenantId, amounts)
    return readAll()
  })
  expect(before).toMatchObject({ balances: [20, 20], outstanding: 40, removals: 0 })
  expect(before.stamps.size).toBe(1)
  await projected(pool)
  const [former] = before.stamps
  const after = await readAll()
  expect(after).toMatchObject({ balances: [30, 20], outstanding: 50, removals: 1 })
  for (const stamp of after.stamps) expect(stamp > former).toBe(true)
})
