/** Exports that share one place for their records. Slow readers of smaller records would fill no connection. */
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createCursorCipher } from '../../src/domain/paging/cursor.ts'
import { readWindow } from '../../src/domain/paging/page.ts'
import { Semaphore } from '../../src/domain/rate/semaphore.ts'
import { exportLines } from '../../src/export/lines.ts'
import { bulkExports } from '../../src/export/routes.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { createContexts } from '../support/gateway.ts'
import { readLines } from './support.ts'

const database = await createDatabase()
const build = createBuilders(database)
const tenantId = await build.tenant()
/** One chunk, which is written in ten steps. */
const total = 1_000
await database.platform`
  insert into purchased_voucher (tenant_id, reference) select ${tenantId}, 'R-' || n from generate_series(1, ${total}::integer) n`
const { id: tokenId } = await build.token([tenantId])
const contextOf = createContexts(database.pool)
const bulkExport = bulkExports.find(({ name }) => name === 'ExportPurchasedVouchers')
if (!bulkExport) throw new Error('There is no export of purchased vouchers.')
const places = new Semaphore({ maxRunning: 1 })
const window = readWindow(createCursorCipher(Buffer.alloc(32)), bulkExport.listOf(tenantId).identity, {}, {})
const serverTime = '2999-01-01T00:00:00.000000Z'

const start = () =>
  exportLines({
    bulkExport,
    createContext: () => contextOf({ tokenId, tenants: [tenantId], permissions: bulkExport.permissions }),
    list: bulkExport.listOf(tenantId),
    window: { ...window, until: serverTime, limit: bulkExport.chunkSize },
    serverTime,
    places,
    waitForStep: () => Promise.resolve(),
    continues: () => Promise.resolve(),
    complete: () => Promise.resolve(),
  })

/** Reads an export to its end, with a pause in milliseconds after each part. */
async function read(lines: AsyncGenerator<Buffer>, pauseMs: number): Promise<string> {
  let text = ''
  for await (const bytes of lines) {
    text += bytes.toString()
    if (pauseMs > 0) await pause(pauseMs)
  }
  return text
}

test('a reader who takes a little now and then gives its place up to others, and gets each record once', async () => {
  const lines = start()
  // It has the place from its first records on.
  const begun = [await lines.next(), await lines.next()].map(({ value }) => String(value)).join('')
  let isDone = false
  const slow = read(lines, 300).then(rest => {
    isDone = true
    return begun + rest
  })
  const stalled = start()
  await stalled.next()
  // Waits for the place, and then takes nothing of what it gets.
  await stalled.next()
  const other = await read(start(), 0)
  expect(isDone).toBe(false)
  for (const text of [other, await slow]) {
    const { records, count } = readLines(text)
    expect(count).toBe(total)
    expect(new Set(records.map(({ id }) => id)).size).toBe(total)
  }
  await stalled.return(undefined)
})
