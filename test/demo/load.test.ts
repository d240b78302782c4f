import { expect, it } from 'vitest'
import { demoTenant } from '#demo'
import { Random } from '../../packages/demo/src/random.ts'
import { qrTokenOf, referenceOf } from '../../packages/demo/src/voucher-code.ts'
import type { Pool } from '../../src/db/sql.ts'
import { isEmpty, loadDemo } from '../../src/demo/load.ts'
import type { ResolvedVoucher } from '../../src/domain/record/resolution.ts'
import { type ReasonCode, reasonAgainstRedemption } from '../../src/domain/record/voucher-status.ts'
import { createDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'

const tables = ['tenant', 'category', 'product', 'product_category', 'variant', 'purchased_voucher', 'customer']
const { platform: pool } = await createDatabase()
const { platform: other } = await createDatabase()

async function clear(sql: Pool): Promise<void> {
  await sql`truncate ${sql(tables)} cascade`
  await sql`truncate gateway.consent_withdrawal`
}

async function load(sql: Pool, scale = 1) {
  await clear(sql)
  return loadDemo(sql, { scale })
}

/** Returns a checksum of each table, and the day of the data. */
async function fingerprint(sql: Pool): Promise<Record<string, string>> {
  const [day] = await sql<{ day: string }[]>`select (now() at time zone 'UTC')::date::text as day`
  const sums: Record<string, string> = { day: day!.day }
  for (const table of tables) {
    const [row] = await sql<{ sum: string }[]>`
      select md5(string_agg(record::text, e'\n' order by record::text)) as sum from ${sql(table)} record`
    sums[table] = row!.sum
  }
  return sums
}

async function tally(table: string, conditions: Record<string, string>): Promise<Record<string, number>> {
  const columns = Object.entries(conditions).map(
    ([name, condition]) => `count(*) filter (where ${condition}) as ${name}`,
  )
  const [row] = await pool.unsafe<Record<string, number>[]>(`select ${columns.join(', ')} from ${table}`)
  return row!
}

async function expectSome(table: string, conditions: Record<string, string>): Promise<void> {
  const found = await tally(table, conditions)
  expect(Object.entries(found).filter(([, count]) => count === 0)).toEqual([])
}

async function expectNone(table: string, conditions: Record<string, string>): Promise<void> {
  const found = await tally(table, conditions)
  expect(Object.entries(found).filter(([, count]) => count > 0)).toEqual([])
}

// The data depend on the day: if midnight passes during the test, the retry runs within one day.
it('gives the same data for the same day and scale', { retry: 1 }, async () => {
  await load(pool)
  await load(other)
  expect(await fingerprint(other)).toEqual(await fingerprint(pool))
})

it('returns the numbers of records and reports progress', async () => {
  await clear(pool)
  expect(await isEmpty(pool)).toBe(true)
  const reported: [number, number][] = []
  const counts = await loadDemo(pool, { scale: 2, onProgress: (done, total) => reported.push([done, total]) })
  expect(await isEmpty(pool)).toBe(false)
  const total = counts.tenants + counts.products + counts.vouchers + counts.customers
  expect(counts).toMatchObject({ products: 300, vouchers: 8_000, customers: 1_600 })
  expect(reported.at(-1)).toEqual([total, total])
  const [found] = await pool`
    select (select count(*) from tenant) as tenants, (select count(*) from product) as products,
           (select count(*) from purchased_voucher) as vouchers, (select count(*) from customer) as customers`
  expect({ ...found }).toEqual(counts)
  await load(pool)
})

it('has a tree of groups, regions and venues', async () => {
  const depths = await pool<{ depth: number; count: number }[]>`
    with recursive tree as (
      select id, 1 as depth from tenant where parent_id is null
      union all select tenant.id, depth + 1 from tenant join tree on tenant.parent_id = tree.id
    )
    select depth, count(*) from tree group by depth order by depth`
  expect(depths.map(({ depth }) => depth)).toEqual([1, 2, 3, 4])
  await expectSome('tenant', {
    groups: "type = 'group'",
    regions: "type = 'region' and subdomain is null",
    alone: "type = 'venue' and parent_id is null and not exists (select from tenant child where parent_id = tenant.id)",
  })
})

it('has every type of product', async () => {
  const anyVariant = 'exists (select from variant where product_id = product.id)'
  await expectSome('product', {
    card_of_amounts: `is_monetary and monetary_value is null and ${anyVariant}`,
    fixed_card: `is_monetary and monetary_value = price and not ${anyVariant}`,
    experience_in_variants: `not is_monetary and price is null and ${anyVariant}`,
    plain_experience: `not is_monetary and price > 0 and not ${anyVariant}`,
    on_sale: 'sale_price < price',
    variant_on_sale: 'exists (select from variant where product_id = product.id and sale_price < price)',
    without_summary: 'summary is null',
    without_description: 'description_html is null',
    without_image: "image_url is null and image_urls = '{}'",
    with_images: 'cardinality(image_urls) > 2 and image_url = image_urls[1]',
    without_category: 'not exists (select from product_category where product_id = product.id)',
    in_two_categories: '(select count(*) from product_category where product_id = product.id) = 2',
    without_validity: 'validity_type is null and validity_months is null',
    without_end: "validity_type = 'no_expiry' and validity_months is null",
  })
  await expectNone('product', {
    sale_for_nothing: 'sale_price <= 0 or sale_price >= price',
    of_two_currencies:
      'exists (select from variant v where product_id = product.id and v.currency <> product.currency)',
    of_another_tenant: `exists (select from product_category join category on category.id = category_id
                               where product_id = product.id and category.tenant_id <> product.tenant_id)`,
    shares_id_with_variant: 'exists (select from variant where variant.id = product.id)',
    shares_slug_in_tenant: `exists (select from product twin where twin.tenant_id = product.tenant_id and twin.slug = product.slug
                          and twin.id <> product.id)`,
  })
})

it('has vouchers in every state', async () => {
  await expectSome('purchased_voucher', {
    unredeemed: "redemption_status = 'unredeemed' and current_balance = initial_balance and not void",
    in_part: "redemption_status = 'part_redeemed' and current_balance between 0.001 and initial_balance - 0.001",
    redeemed: "redemption_status = 'redeemed' and current_balance = 0",
    no_balance: "redemption_status <> 'redeemed' and current_balance = 0",
    void: 'void and void_reason is not null and void_date is not null',
    scheduled: 'date_scheduled > now() and date_issued is null',
    sent_as_scheduled: 'date_scheduled < now() and date_issued = date_scheduled',
    monetary: 'is_monetary and allow_part_redeem',
    in_one_go: 'is_monetary and not allow_part_redeem',
    experience: 'not is_monetary and initial_balance > 0',
    experience_without_balance: 'not is_monetary and initial_balance is null and purchase_value > 0',
    sparse: 'currency is null and order_id is null and redemption_status is null and qr_token is null',
    full: 'num_nulls(qr_token, recipient_name, customer_name, parent_product_id, date_valid_end, date_scheduled) = 0',
    large_id: 'least(id, order_id, order_item_id) > 4294967296',
    large_id_at_demo_tenant: `id > 4294967296 and tenant_id = ${demoTenant.tenantId}`,
    pounds: "currency = 'GBP'",
    euros: "currency = 'EUR'",
    yen: "currency = 'JPY'",
    dinars: "currency = 'KWD' and scale(trim_scale(current_balance)) = 3",
    umlaut: "recipient_name ~ '[äöüß]'",
    apostrophe: "customer_name like '%''%'",
    japanese: "recipient_name ~ '[一-龠]'",
    arabic: "recipient_name ~ '[ء-ي]'",
  })
  await expectNone('purchased_voucher', {
    over_full: 'current_balance > initial_balance',
    redeemed_with_balance: "redemption_status = 'redeemed' and current_balance > 0",
    bought_for_nothing: 'purchase_value <= 0',
    made_later: 'created_at > now()',
    void_out_of_time: 'void_date not between created_at and now()',
    void_without_reason: 'void <> (void_reason is not null)',
    misshapen: "reference !~ '^GIFT-[2-9A-HJ-NP-Z]{4}-[2-9A-HJ-NP-Z]{4}$'",
    of_another_tenant: `product_id is not null and not exists (
      select from product
      where product.tenant_id = purchased_voucher.tenant_id and product.id = coalesce(parent_product_id, product_id))`,
  })
})

type VoucherWithToday = ResolvedVoucher & { tenantId: number; today: string }

it('has vouchers for every reason code, and a redeemable demo voucher', async () => {
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

it('has every type of customer', async () => {
  await expectSome('customer', {
    opted_out_again: 'not marketing_opted and consented_at is not null',
    never_opted: 'not marketing_opted and consented_at is null',
    full: 'num_nulls(email, consent_source, phone_number, address_1, address_2, town, city, county, postcode) = 0',
    sparse: 'marketing_opted and num_nonnulls(forename, surname, phone_number, address_1, country, postcode) = 0',
    without_email: 'email is null',
    imported: "consent_source = 'import'",
    large_id: 'id > 4294967296',
    large_id_at_demo_tenant: `id > 4294967296 and marketing_opted and tenant_id = ${demoTenant.tenantId}`,
  })
  await expectNone('customer', {
    reachable: "email !~ '^[a-z.0-9-]+@example[.](com|org|net)$'",
    opted_without_consent: 'marketing_opted and consented_at is null',
    consent_out_of_time: 'consented_at not between created_at and now()',
    twice: 'exists (select from customer twin where twin.email = customer.email and twin.id <> customer.id)',
  })
  const { opted } = await tally('customer', { opted: 'marketing_opted' })
  expect(opted! / 800).toBeCloseTo(0.6, 1)
})

it('has withdrawals of consent in many months', async () => {
  const { withdrawn } = await tally('customer', { withdrawn: 'not marketing_opted and consented_at is not null' })
  const months = await pool<{ month: Date; count: number }[]>`
    select date_trunc('month', withdrawn_at) as month, count(*) from gateway.consent_withdrawal group by month`
  expect(months.reduce((sum, { count }) => sum + count, 0)).toBe(withdrawn)
  expect(months.length).toBeGreaterThan(12)
})

it('has no row that v1 cannot show, and all of it is in the figures', async () => {
  await projected(pool)
  expect(await pool`select from gateway.voucher`).toHaveLength(4_000)
  expect(await pool`select * from gateway.rejected`).toEqual([])
  expect(await pool`select * from gateway.figure_differences()`).toEqual([])
})

it('advances the sequences beyond the loaded ids', async () => {
  const [row] = await other<{ id: number; highest: number }[]>`
    insert into purchased_voucher (tenant_id, reference) values (1, 'after the demo')
    returning id, (select max(id) from purchased_voucher) as highest`
  expect(row!.id).toBe(row!.highest + 1)
})

it('rejects a database that contains data', async () => {
  const before = await fingerprint(pool)
  await expect(loadDemo(pool, { scale: 1 })).rejects.toThrow('Demo data needs an empty database')
  expect(await fingerprint(pool)).toEqual(before)
})

it.each([
  ['before the first row', 'rename column postcode to zip', 'rename column zip to postcode'],
  ['before the last row', 'add constraint demo_check check (id <> 5)', 'drop constraint demo_check'],
  ['after the last row', 'add constraint demo_check check (id <> 799)', 'drop constraint demo_check'],
])('loads nothing when the database reports an error %s', async (when, change, repair) => {
  const table = when === 'before the last row' ? 'purchased_voucher' : 'customer'
  await clear(other)
  await other.unsafe(`alter table ${table} ${change}`)
  await expect(loadDemo(other, { scale: 1 })).rejects.toThrow(/"postcode"|"demo_check"/)
  for (const table of tables) expect(await other`select from ${other(table)} limit 1`).toHaveLength(0)

  await other.unsafe(`alter table ${table} ${repair}`)
  await expect(load(other)).resolves.toMatchObject({ customers: 800 })
})

it('loads nothing when the platform itself fails', async () => {
  await clear(other)
  const onProgress = () => {
    throw new Error('The terminal is gone.')
  }
  await expect(loadDemo(other, { scale: 1, onProgress })).rejects.toThrow('The terminal is gone.')
  expect(await isEmpty(other)).toBe(true)
  await expect(load(other)).resolves.toMatchObject({ customers: 800 })
})

it('gives each voucher a unique reference and QR token', () => {
  const rows = Array.from({ length: 100_000 }, (_, index) => index * 50)
  const random = new Random('same for all', 0)
  expect(new Set(rows.map(referenceOf)).size).toBe(rows.length)
  expect(new Set(rows.map(row => qrTokenOf(row, random).slice(0, 8))).size).toBe(rows.length)
})
