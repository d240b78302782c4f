import { expect, it } from 'vitest'
import { demoTenant, liveChange } from '#demo'
import { copyRows } from '../../src/db/row/copy.ts'
import type { Pool } from '../../src/db/sql.ts'
import { isEmpty, loadDemo } from '../../src/demo/load.ts'
import type { ResolvedVoucher } from '../../src/domain/record/resolution.ts'
import { type ReasonCode, reasonAgainstRedemption } from '../../src/domain/record/voucher-status.ts'
import { createDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'

const tables = ['tenant', 'category', 'product', 'product_category', 'variant', 'purchased_voucher', 'customer']
const { platform: pool } = await createDatabase()
const { platform: otherDatabase } = await createDatabase()

async function clearTables(sql: Pool): Promise<void> {
  await sql`truncate ${sql(tables)} cascade`
  await sql`truncate gateway.consent_withdrawal`
}

async function load(sql: Pool, scale = 1) {
  await clearTables(sql)
  return loadDemo(sql, { scale })
}

/** Returns a checksum per table, and the day of the data. */
async function readChecksums(sql: Pool): Promise<Record<string, string>> {
  const [day] = await sql<{ day: string }[]>`select (now() at time zone 'UTC')::date::text as day`
  const sums: Record<string, string> = { day: day!.day }
  for (const table of tables) {
    const [row] = await sql<{ sum: string }[]>`
      select md5(string_agg(record::text, e'\n' order by record::text)) as sum from ${sql(table)} record`
    sums[table] = row!.sum
  }
  return sums
}

async function countMatches(table: string, conditions: Record<string, string>): Promise<Record<string, number>> {
  const columns = Object.entries(conditions).map(
    ([name, condition]) => `count(*) filter (where ${condition}) as ${name}`,
  )
  const [row] = await pool.unsafe<Record<string, number>[]>(`select ${columns.join(', ')} from ${table}`)
  return row!
}

/** Expects at least one record per condition. */
const expectSome = async (table: string, conditions: Record<string, string>) =>
  expect(Object.entries(await countMatches(table, conditions)).filter(([, count]) => count === 0)).toEqual([])

// The data depend on the day: if midnight passes during the test, the retry runs within one day.
it('the demo data are the same for the same day and scale', { retry: 1 }, async () => {
  await load(pool)
  await load(otherDatabase)
  expect(await readChecksums(otherDatabase)).toEqual(await readChecksums(pool))
})

it('the loader returns the number of records per table, and reports its progress', async () => {
  await clearTables(pool)
  expect(await isEmpty(pool)).toBe(true)
  const reported: [number, number][] = []
  const counts = await loadDemo(pool, { scale: 2, onProgress: (done, total) => reported.push([done, total]) })
  expect(await isEmpty(pool)).toBe(false)
  const total = counts.tenants + counts.products + counts.vouchers + counts.customers
  expect(counts).toMatchObject({ products: 300, vouchers: 8_000, customers: 1_600 })
  expect(reported.at(-1)).toEqual([total, total])
  expect(await countMatches('purchased_voucher', { vouchers: 'true' })).toEqual({ vouchers: counts.vouchers })
  await load(pool)
})

it('the demo data have tenants and products of every type, and vouchers and customers in every state', async () => {
  const anyVariant = 'exists (select from variant where product_id = product.id)'
  await expectSome('tenant', {
    regions: "type = 'region' and subdomain is null",
    alone: "type = 'venue' and parent_id is null and not exists (select from tenant child where parent_id = tenant.id)",
  })
  await expectSome('product', {
    card_of_amounts: `is_monetary and monetary_value is null and ${anyVariant}`,
    fixed_card: `is_monetary and monetary_value = price and not ${anyVariant}`,
    experience_in_variants: `not is_monetary and price is null and ${anyVariant}`,
    on_sale: 'sale_price < price',
    without_image: "image_url is null and image_urls = '{}'",
    without_category: 'not exists (select from product_category where product_id = product.id)',
  })
  await expectSome('purchased_voucher', {
    in_part: "redemption_status = 'part_redeemed' and current_balance between 0.001 and initial_balance - 0.001",
    scheduled: 'date_scheduled > now() and date_issued is null',
    experience_without_balance: 'not is_monetary and initial_balance is null and purchase_value > 0',
    sparse: 'currency is null and order_id is null and redemption_status is null and qr_token is null',
    full: 'num_nulls(qr_token, recipient_name, customer_name, parent_product_id, date_valid_end, date_scheduled) = 0',
    large_id_at_demo_tenant: `id > 4294967296 and tenant_id = ${demoTenant.tenantId}`,
    dinars: "currency = 'KWD' and scale(trim_scale(current_balance)) = 3",
    japanese: "recipient_name ~ '[一-龠]'",
  })
  await expectSome('customer', {
    opted_out_again: 'not marketing_opted and consented_at is not null',
    without_email: 'email is null',
  })
  // No real person has one of the e-mail addresses.
  const { reachable } = await countMatches('customer', {
    reachable: "email !~ '^[a-z.0-9-]+@example[.](com|org|net)$'",
  })
  expect(reachable).toBe(0)
})

type VoucherWithToday = ResolvedVoucher & { tenantId: number; today: string }

it('the demo data have vouchers for every reason code, and a redeemable demo voucher', async () => {
  const vouchers = await pool<VoucherWithToday[]>`
    select tenant_id as "tenantId", reference, void, date_valid_start as "dateValidStart",
           date_valid_end as "dateValidEnd", redemption_status as "redemptionStatus",
           current_balance as "currentBalance", (now() at time zone time_zone)::date as today
    from purchased_voucher join tenant on tenant.id = tenant_id`
  const count = new Map<ReasonCode | null, number>()
  for (const voucher of vouchers.filter(({ tenantId }) => tenantId === demoTenant.tenantId)) {
    const reason = reasonAgainstRedemption(voucher, voucher.today)
    count.set(reason, (count.get(reason) ?? 0) + 1)
  }
  expect([...count.keys()].sort()).toEqual(['expired', 'no_balance', 'not_yet_valid', 'redeemed', 'void', null].sort())
  expect(Math.min(...count.values())).toBeGreaterThan(20)

  const demoVoucher = vouchers.find(({ reference }) => reference === demoTenant.voucherReference)!
  expect(demoVoucher.tenantId).toBe(demoTenant.tenantId)
  expect(reasonAgainstRedemption(demoVoucher, demoVoucher.today)).toBeNull()
})

it('v1 can show each row of the demo data, and the figures include each row', async () => {
  await projected(pool)
  expect(await pool`select from gateway.voucher`).toHaveLength(4_000)
  expect(await pool`select * from gateway.rejected`).toEqual([])
  expect(await pool`select * from gateway.figure_differences()`).toEqual([])
})

it('with --live the demo sells more vouchers, each redeemable and with a new reference', async () => {
  const now = Date.now() * 1000
  const changes = Array.from({ length: 1_000 }, (_, index) => liveChange(4_000 + index, now, 800))
  expect(liveChange(4_007, now, 800)).toEqual(changes[7])
  // The changes come at a rate of about 30 per minute.
  expect(changes.reduce((sum, { waitMs }) => sum + waitMs, 0) / 1_000).toBeCloseTo(2_000, -2)
  const sales = changes.flatMap(({ change }) => (change.kind === 'sale' ? [change.voucher] : []))
  expect(sales.length).toBeGreaterThan(300)
  await copyRows(pool, 'public.purchased_voucher', sales)
  await projected(pool)
  expect(await pool`select * from gateway.rejected`).toEqual([])
  const [sold] = await pool`
    select count(*)::int as count from gateway.voucher
    where created_at >= now() - interval '1 minute' and not void and date_valid_end > current_date`
  expect(sold).toEqual({ count: sales.length })
})

it('the loader advances the sequences beyond the loaded ids', async () => {
  const [row] = await otherDatabase<{ id: number; highest: number }[]>`
    insert into purchased_voucher (tenant_id, reference) values (1, 'after the demo')
    returning id, (select max(id) from purchased_voucher) as highest`
  expect(row!.id).toBe(row!.highest + 1)
})

it('the loader rejects a database that contains data', async () => {
  const before = await readChecksums(pool)
  await expect(loadDemo(pool, { scale: 1 })).rejects.toThrow('Demo data needs an empty database')
  expect(await readChecksums(pool)).toEqual(before)
})

it.each([
  ['before the first row', 'rename column postcode to zip', 'rename column zip to postcode'],
  ['before the last row', 'add constraint demo_check check (id <> 5)', 'drop constraint demo_check'],
])('loads nothing when the database reports an error %s', async (when, change, repair) => {
  const table = when === 'before the last row' ? 'purchased_voucher' : 'customer'
  await clearTables(otherDatabase)
  await otherDatabase.unsafe(`alter table ${table} ${change}`)
  await expect(loadDemo(otherDatabase, { scale: 1 })).rejects.toThrow(/"postcode"|"demo_check"/)
  for (const table of tables) expect(await otherDatabase`select from ${otherDatabase(table)} limit 1`).toHaveLength(0)

  await otherDatabase.unsafe(`alter table ${table} ${repair}`)
  await expect(load(otherDatabase)).resolves.toMatchObject({ customers: 800 })
})
