import { describe, expect, test } from 'vitest'
import { bulkExports } from '../../src/export/routes.ts'
import { bearer, faultyFields, flawOf, walk } from '../rest/support.ts'
import { whole } from '../support/builders.ts'
import { startService } from '../support/service.ts'
import { tokenRecordsOf } from '../support/token-records.ts'
import { exportList, exportPath, setChunkSize } from './support.ts'

const { build, client, database, pool, platform } = await startService({ EXPORTS_PER_HOUR: '1000' })
const tenantId = await build.tenant({ name: 'Wörld "1"\n', subdomain: 'export' })
for (let n = 0; n < 3; n++) await build.tenant({ parent_id: tenantId, type: n === 1 ? 'shop' : null })
const { secret, id: tokenId } = await build.token([whole(tenantId)])
const otherTenantId = await build.tenant()

/** The number of records in a chunk. The number is small, so that an export has several chunks. */
const chunkSize = 500
setChunkSize(chunkSize)
const productIds: number[] = []
for (let n = 0; n < 120; n++) {
  const title = `P\\${n}\t"温泉"\u2028\v\u0085\u001c`
  const others = { description_html: n % 2 ? '<p>"\\n"</p>' : null, price: n % 3 ? 25.5 : null }
  productIds.push(await build.product(tenantId, { title, image_urls: ['a"b', 'c\\d'], ...others }))
  if (n % 2 === 0) for (const sort_order of [7, 3]) await build.variant(productIds[n]!, { price: 10 + n, sort_order })
}
await build.category(tenantId, productIds.slice(0, 60), { title: 'Für\u2029"zwei"', sort_order: 2 })
await build.category(tenantId, productIds.slice(30, 90), { sort_order: 1 })
// The tenant gets more vouchers than a chunk contains.
await platform`
  insert into purchased_voucher (tenant_id, reference, initial_balance, currency, void, product_title, date_valid_end,
                                 void_reason)
  select ${tenantId}, 'R-' || n, n / 100.0, 'GBP', n % 7 = 0, case when n % 5 > 0 then 'A "B" \\ ' || n end,
         case when n % 3 = 0 then date '2027-01-31' end, case when n % 7 = 0 then 'lost' end
  from generate_series(1, 1010) n`
for (let n = 0; n < 60; n++) await build.customer(tenantId, { email: `${n}@example.com`, town: n % 2 ? 'Ört' : null })
await build.customer(tenantId, { marketing_opted: false })
await build.voucher(otherTenantId)

const lists = [
  { path: '/tenants', of: '/tenants', total: 4 },
  { path: `/tenants/${tenantId}/catalog-vouchers`, of: `/tenants/${tenantId}/catalog/vouchers`, total: 120 },
  { path: `/tenants/${tenantId}/purchased-vouchers`, of: `/tenants/${tenantId}/sales/purchased-vouchers`, total: 1010 },
  { path: `/tenants/${tenantId}/marketing-signups`, of: `/tenants/${tenantId}/customers/marketing-signups`, total: 60 },
]

const paths = lists.map(({ path }) => path)
const tenantPaths = paths.slice(1)

const escapeLineEnd = (character: string) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`

/** Returns the JSON text of each record in the first five pages of v1, with line ends escaped. */
async function readRecordTextsOfV1(path: string): Promise<string[]> {
  const lines: string[] = []
  for (let cursor: string | null = '', pages = 0; cursor !== null && pages < 5; pages++) {
    const { body, text } = await client.rest(secret, `${path}?cursor=${cursor}`)
    cursor = body.next_cursor
    // In the data of this test, the separator below occurs only between records.
    const data = text.slice('{"data":['.length, text.lastIndexOf('],"next_cursor"'))
    lines.push(
      ...data
        .replaceAll(/[\u0085\u2028\u2029]/g, escapeLineEnd)
        .split(/(?<=\}),(?=\{"(?:id":\d+,"(?:slug":"product|reference|email)|tenant_id"))/),
    )
  }
  return lines
}

describe.each(lists)('$path', ({ path, of, total }) => {
  test('has the records of v1 in the same order, one per line, between the line with the server time and the last line', async () => {
    const { headers, text, recordLines, serverTime, cursorPlaces } = await exportList(client, secret, path)
    expect(headers).toMatchObject({ 'content-type': 'application/x-ndjson', 'cache-control': 'private, no-store' })
    expect(serverTime).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/)
    expect(text.startsWith(`{"server_time":"${serverTime}"}\n`)).toBe(true)
    expect(text.endsWith(`{"end":true,"count":${total}}\n`)).toBe(true)
    const expected = await readRecordTextsOfV1(of)
    expect(recordLines.slice(0, expected.length)).toEqual(expected)
    expect(new Set(recordLines).size).toBe(total)
    expect(cursorPlaces.length).toBeGreaterThanOrEqual(Math.ceil(total / chunkSize))
    expect(cursorPlaces.at(-1)).toBe(total)
  })

  test('continues after a cursor of the export or of v1, and v1 continues after a cursor of the export', async () => {
    const { pages, cursors } = await walk(client, secret, of)
    const all = await exportList(client, secret, path)
    const rest = await exportList(client, secret, `${path}?cursor=${all.cursors[0]}`)
    expect([rest.serverTime, rest.recordLines]).toEqual([all.serverTime, all.recordLines.slice(all.cursorPlaces[0])])
    if (cursors[0] !== undefined) {
      const rest = await exportList(client, secret, `${path}?cursor=${cursors[0]}`)
      expect(rest.records).toEqual(all.records.slice(pages[0]?.length))
    }
    const page = await client.rest(secret, `${of}?cursor=${all.cursors[0]}`)
    expect(page.body.data).toEqual(all.records.slice(all.cursorPlaces[0]).slice(0, 50))
  })
})

test('the export of an empty list has only the first line and the last line', async () => {
  const empty = await exportList(client, secret, `/tenants/${tenantId + 1}/purchased-vouchers`)
  expect(empty.text).toBe(`{"server_time":"${empty.serverTime}"}\n{"end":true,"count":0}\n`)
})

test('an export leaves out a record that changed after the server time of its cursor, and updated_since finds the record', async () => {
  const path = `/tenants/${tenantId}/purchased-vouchers`
  const whole = await exportList(client, secret, path)
  const last = whole.records.at(-1)
  await platform`update purchased_voucher set product_title = 'changed' where id = ${last.id}`
  const rest = await exportList(client, secret, `${path}?cursor=${whole.cursors[1]}`)
  expect(rest.records.map(({ id }) => id)).not.toContain(last.id)
  const list = `/tenants/${tenantId}/sales/purchased-vouchers?updated_since=${rest.serverTime}`
  expect((await client.rest(secret, list)).body.data).toMatchObject([{ id: last.id }])
})

test('an export of signups has an audit entry, and counts as an export of the token', async () => {
  const { id, secret: own } = await build.token([tenantId])
  const { exportsOf } = tokenRecordsOf(database)
  const { headers } = await exportList(client, own, `/tenants/${tenantId}/marketing-signups`)
  const detail = { records: 60, operation: 'bulk export', requestId: headers['x-request-id'] }
  expect(await exportsOf(id)).toMatchObject([{ tenantId, detail }])
  await exportList(client, own, `/tenants/${tenantId}/purchased-vouchers`)
  await exportList(client, own, `/tenants/${tenantId}/marketing-signups`)
  expect(await exportsOf(id), 'with the second start within an hour').toHaveLength(2)
  expect(await pool`select records from gateway.token_export where token_id = ${id}`).toEqual([{ records: 120 }])
})

const sendToExport = (url: string, headers: Record<string, string> = {}, method: 'GET' | 'DELETE' = 'GET') =>
  client.ask({ method, url: exportPath + url, headers })

test.each(paths)('%s rejects requests without a valid token, and other methods than GET', async path => {
  for (const headers of [{}, bearer('vgw_no')]) expect(flawOf(await sendToExport(path, headers), 401)).toBeNull()
  const other = await sendToExport(path, bearer(secret), 'DELETE')
  expect(flawOf(other, 405)).toBeNull()
  expect(other.headers.allow).toBe('GET')
})

test.each(tenantPaths)('%s rejects requests with the same errors as the list of v1', async path => {
  const askFor = (name: string) => sendToExport(path.replace(String(tenantId), name), bearer(secret))
  for (const name of ['0', 'abc', '999999']) expect(flawOf(await askFor(name), 404)).toBeNull()
  expect(flawOf(await askFor(String(otherTenantId)), 403)).toBeNull()
  const powerless = await build.token([tenantId], { permissions: ['redeem_vouchers'] })
  const refused = await sendToExport(path, bearer(powerless.secret))
  expect(flawOf(refused, 403)).toBeNull()
  // The service checks the tenant before the permission, and the permission before the query (R1).
  expect((await sendToExport(path.replace(String(tenantId), '0'), bearer(powerless.secret))).status).toBe(404)
  expect((await sendToExport(`${path}?cursor=x`, bearer(powerless.secret))).status).toBe(403)
})

test.each(paths)('%s rejects a cursor of another list', async path => {
  const { cursors } = await exportList(client, secret, path === '/tenants' ? tenantPaths[0]! : '/tenants')
  const own = (await exportList(client, secret, path)).cursors[0]!
  for (const query of [`cursor=${cursors[0]}`, `cursor=${own}A`, `cursor=${own}&cursor=${own}`, 'cursor=1']) {
    expect(faultyFields(await sendToExport(`${path}?${query}`, bearer(secret))), query).toEqual(['cursor'])
  }
  for (const query of ['', 'cursor=', 'cursor=null', 'unknown=1', `cursor=${own}`]) {
    expect((await sendToExport(`${path}?${query}`, bearer(secret))).status).toBe(200)
  }
})

test('an export rejects a cursor of another tenant', async () => {
  const [path = ''] = tenantPaths
  const both = await build.token([tenantId, otherTenantId])
  const { cursors } = await exportList(client, both.secret, path)
  const refused = await sendToExport(
    `/tenants/${otherTenantId}/catalog-vouchers?cursor=${cursors[0]}`,
    bearer(both.secret),
  )
  expect(faultyFields(refused)).toEqual(['cursor'])
})

test('an export is rejected unless Accept allows newline-delimited JSON or JSON', async () => {
  const send = (accept: string) => sendToExport('/tenants', { ...bearer(secret), accept })
  for (const accept of ['', '*/*', 'application/*', 'Application/X-NDJSON; q=0.5, text/html', 'application/json']) {
    expect((await send(accept)).status, accept).toBe(200)
  }
  for (const accept of ['text/html', 'application/x-ndjson;q=0']) {
    expect(faultyFields(await send(accept)), accept).toEqual(['accept'])
  }
})

test('an unknown path gives 401 without a valid token, and 404 with a valid token', async () => {
  for (const path of ['', '/', `/tenants/${tenantId}`, `/tenants/${tenantId}/vouchers`]) {
    expect(flawOf(await sendToExport(path), 401)).toBeNull()
    expect(flawOf(await sendToExport(path, bearer(secret)), 404)).toBeNull()
  }
})

test('the start of an export counts against the rate of v1, and its answer has the headers of the rate', async () => {
  const limited = await build.token([tenantId], { rateLimit: 2 })
  const first = await sendToExport('/tenants', bearer(limited.secret))
  expect(first.headers).toMatchObject({ 'ratelimit-limit': '2', 'ratelimit-remaining': '1' })
  expect((await client.rest(limited.secret, '/tenants')).headers['ratelimit-remaining']).toBe('0')
  const refused = await sendToExport('/tenants', bearer(limited.secret))
  expect(flawOf(refused, 429)).toBeNull()
  expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
})

test('each export counts as a request of its token', async () => {
  await client.app.close()
  const counted = await pool`
    select distinct operation from gateway.request_count where token_id = ${tokenId} and operation like 'Export%' order by 1`
  expect(counted.map(({ operation }) => operation)).toEqual(bulkExports.map(({ name }) => name).sort())
})
