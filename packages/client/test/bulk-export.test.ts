import { expect, test, vi } from 'vitest'
import { voucherRecord as voucher } from '../../../test/support/hostile-service.ts'
import { projected } from '../../../test/support/projected.ts'
import { type Page, type PurchasedVoucher, VoucherGateway } from '../src/index.ts'
import { collectAll, formatAnswer, type Step, startProxyWithClient, startService } from './support.ts'

const { build, platform, url, tenant, token } = await startService({ EXPORTS_PER_HOUR: '1000' })
const client = new VoucherGateway({ url, token })
/** The first line of an export. */
const firstLine = { server_time: '2026-01-31T09:30:00.000000Z' }
await build.product(tenant)
await build.customer(tenant)
// The vouchers fill more than two chunks. Random references keep the compressed answer long.
const total = 4_100
await platform`insert into purchased_voucher (tenant_id, reference)
             select ${tenant}, md5(random()::text) || n from generate_series(1, ${total}::integer) n`
await projected(platform)

/** Returns the ids of the tenant's vouchers in the database, in ascending order. */
const readIds = async () =>
  (await platform`select id from purchased_voucher where tenant_id = ${tenant} order by id`).map(({ id }) => id)

const startProxy = (...steps: Step[]) => startProxyWithClient({ url, token }, steps)

const toLines = (...values: object[]) => values.map(value => `${JSON.stringify(value)}\n`).join('')
const createExportAnswer = (body: string) => ({
  answer: formatAnswer(200, { 'content-type': 'application/x-ndjson' }, body),
})

test('an export returns the same records as the list', async () => {
  const exported = client.exportPurchasedVouchers(tenant)
  const records = await collectAll(exported)
  expect(records.map(({ id }) => id).sort((a, b) => a - b)).toEqual(await readIds())
  expect(records[0]).toEqual(await client.purchasedVoucher(tenant, records[0]!.id))
  expect(await collectAll(client.purchasedVouchers(tenant, { updatedSince: exported.serverTime }))).toEqual([])
  expect(await collectAll(client.exportTenants())).toEqual(await collectAll(client.tenants()))
  expect(await collectAll(client.exportCatalogVouchers(tenant))).toEqual(
    await collectAll(client.catalogVouchers(tenant)),
  )
  expect(await collectAll(client.exportMarketingSignups(tenant))).toEqual(
    await collectAll(client.marketingSignups(tenant)),
  )
})

test('after a broken connection an export continues from its last cursor and returns each record once', async () => {
  // Compressed with gzip, the first chunk has 50,000 bytes, and the first two chunks have 100,000 bytes.
  const { client, arrived, cut } = await startProxy({ holdAfter: 75_000 }, 'cut at once')
  const exported = client.exportPurchasedVouchers(tenant)
  const pages: Page<PurchasedVoucher>[] = []
  for await (const page of exported.pages()) {
    if (pages.push(page) === 1) cut()
  }
  const ids = pages.flatMap(({ records }) => records.map(({ id }) => id))
  expect(ids.sort((a, b) => a - b)).toEqual(await readIds())
  expect(arrived.map(line => line.includes('?cursor='))).toEqual([false, true, true])
})

test('another process can continue an export from the cursor of a chunk', async () => {
  const [first] = await collectAll(client.exportPurchasedVouchers(tenant).pages())
  const rest = await collectAll(client.exportPurchasedVouchers(tenant, { cursor: first!.nextCursor! }))
  expect(rest).toHaveLength(total - first!.records.length)
})

test.each([
  ['that ends before its first line', '', 'EXPORT_INCOMPLETE'],
  ['that ends before its last line', toLines(firstLine, voucher(1), { cursor: 'c' }, voucher(2)), 'EXPORT_INCOMPLETE'],
  ['that ends in the middle of a line', `${toLines(firstLine)}{"end":tr`, 'EXPORT_INCOMPLETE'],
  ['with another count', toLines(firstLine, voucher(1), { cursor: 'c' }, { end: true, count: 2 }), 'EXPORT_INCOMPLETE'],
  ['with a line that is not JSON', `${toLines(firstLine)}<html>\n`, 'INVALID_RESPONSE'],
])('an answer %s is an error', async (_, body, code) => {
  const { client, arrived } = await startProxy(createExportAnswer(body))
  await expect(collectAll(client.exportPurchasedVouchers(tenant))).rejects.toMatchObject({ code })
  expect(arrived).toHaveLength(1)
})

/**
 * Returns an answer that is shorter than its `Content-Length`, so that the client waits for more bytes after these
 * lines.
 */
const createUnfinishedAnswer = (...values: object[]) => ({
  answer: createExportAnswer(toLines(firstLine, ...values)).answer.replace('content-length: ', 'content-length: 1'),
})

test('each chunk that arrives resets the number of attempts', async () => {
  const end = createExportAnswer(toLines(firstLine, { end: true, count: 0 }))
  const front = await startProxy(...['a', 'b', 'c'].map(cursor => createUnfinishedAnswer(voucher(1), { cursor })), end)
  const patient = new VoucherGateway({ url: front.url, token, maxAttempts: 2, timeoutMs: 1_000 })
  const exported = await collectAll(patient.exportPurchasedVouchers(tenant).pages())
  expect(exported.map(({ nextCursor }) => nextCursor)).toEqual(['a', 'b', 'c', null])
  expect(front.arrived.map(line => line.split('?')[1])).toEqual([undefined, 'cursor=a', 'cursor=b', 'cursor=c'])
})

test('after an abort or an early break, the token can start the next export', async () => {
  const reason = new Error('The user has left.')
  const controller = new AbortController()
  const read = async () => {
    for await (const _ of client.exportPurchasedVouchers(tenant, { signal: controller.signal }))
      controller.abort(reason)
  }
  // The abort comes before the second chunk is read, so reading the second chunk must throw.
  await expect(read()).rejects.toBe(reason)
  for await (const _ of client.exportPurchasedVouchers(tenant)) break
  // A token may run only one export at a time: while the former export still runs, the answer is 429.
  const once = new VoucherGateway({ url, token, maxAttempts: 1 })
  await vi.waitFor(async () => expect(await collectAll(once.exportTenants())).toHaveLength(1), 15_000)
})
