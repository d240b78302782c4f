/**
 * `adopt init` writes valid files, which guess columns by names and types, and from which `adopt apply` writes records.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { venuesTables } from '../adopt/venues.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { run } from '../support/process.ts'
import { projected } from '../support/projected.ts'

const venue = '0'.repeat(32)
const storeTables = readFileSync(new URL('../adopt/store.tables.sql', import.meta.url), 'utf8')

/**
 * Creates a database of a platform, and runs `adopt init` for the database.
 *
 * @param statements SQL that creates tables and rows
 */
async function initialize(statements: string) {
  const { owner: platform, url } = await createEmptyDatabase()
  await platform.unsafe(statements).simple()
  const folder = join(createDirectory(), 'mapping')
  const command = (...words: string[]) => run(['adopt', ...words, folder], { DATABASE_URL: url })
  const { code, stdout, stderr } = await command('init')
  expect([code, stderr]).toEqual([0, ''])
  expect(await platform`select from pg_namespace where nspname = 'gateway'`).toHaveLength(0)
  const read = (file: string) => readFileSync(join(folder, file), 'utf8')
  return {
    ...{ platform, folder, command, stdout, read },
    /** Returns the expression of each column in the file of a record type. */
    columnsOf: (record: string) =>
      Object.fromEntries(
        [...read(`${record}.sql`).matchAll(/^ {2}(?!--)(.+) as (\w+),?$/gm)].map(([, value, name]) => [name, value]),
      ),
    /** Replaces the null of a column that was not guessed by an expression. */
    put(record: string, column: string, value: string) {
      const former = read(`${record}.sql`)
      const text = former.replace(new RegExp(`^  null::\\S+ as ${column}\\b`, 'm'), `  ${value} as ${column}`)
      expect(text).not.toBe(former)
      writeFileSync(join(folder, `${record}.sql`), text)
    },
    /** Runs `adopt apply`, and then each select, because the files must also work in psql. */
    async apply() {
      expect(await command('apply')).toMatchObject({ code: 0, stderr: '' })
      for (const file of readdirSync(folder).filter(name => !name.includes('.from.'))) {
        await platform.unsafe(read(file)).simple()
      }
    },
  }
}

test('with unusual names and types of columns, the file of vouchers needs no change', async () => {
  const { platform, command, columnsOf, read, put, apply } = await initialize(`${venuesTables}
    insert into shop.venue (id, path, name) values ('${venue}', 'spa', 'Spa');
    insert into shop.item (id, venue, name, cents) values ('${venue}', '${venue}', 'Tea', 1250);
    insert into shop."Gift Card" ("No", venue, item, code, "valueCents", expires_at) values
      ('A', '${venue}', '${venue}', 'CODE-A', 5000, '2027-01-01 00:00+01');
    insert into shop."Gift Card" ("No", venue, code, "valueCents", state, deleted_at) values
      ('B', '${venue}', 'CODE-B', 1000, 'blocked', null), ('C', '${venue}', 'CODE-C', 1000, 'active', now())`)
  expect(columnsOf('customer')).toMatchObject({ tenant_id: 'customer.venue', marketing_opted: 'false' })
  expect(columnsOf('product')).toMatchObject({ slug: 'null::text', price: 'gateway.major_units(item.cents, null)' })
  expect(read('product.sql')).toContain(
    '-- Its name in URLs. At most 100,000 characters.\n  -- Required, and nothing found: put a column or a constant.\n  null::text as slug',
  )
  const { stdout } = await command('check')
  expect(stdout.match(/^.*error:.*$/gm)).toEqual([expect.stringMatching(/^product\.sql: .*rejected/)])
  put('product', 'slug', 'item.name')
  put('product', 'currency', `'EUR'`)
  await apply()
  const vouchers = () => platform`
    select reference, initial_balance, current_balance, void, product_title, date_valid_end, tenant.name
    from gateway.voucher join gateway.tenant on tenant.id = tenant_id order by reference`
  const blocked = { reference: 'CODE-B', void: true, date_valid_end: null }
  expect(await vouchers()).toMatchObject([
    {
      ...{ reference: 'CODE-A', initial_balance: 50, current_balance: null, void: false, product_title: 'Tea' },
      ...{ date_valid_end: '2026-12-31', name: 'Spa' },
    },
    blocked,
  ])

  // The guessed joins have rules, so changes of joined tables change the records.
  await platform.unsafe(`update shop.item set name = 'Green tea'; update shop.venue set zone = 'Asia/Tokyo'`).simple()
  await projected(platform)
  expect(await vouchers()).toMatchObject([{ product_title: 'Green tea', date_valid_end: '2027-01-01' }, blocked])
})

test('the files fit a shop system with minor units, currencies by region, links to categories and soft deletes', async () => {
  const { command, columnsOf, read, stdout, folder } = await initialize(storeTables)
  expect(await command('check')).toMatchObject({ code: 0, stdout: expect.stringContaining('0 errors, 0 warnings') })
  expect(stdout).toMatch(/^voucher\.sql, voucher\.from\.region\.sql: from public\.gift_card$/m)
  expect(columnsOf('voucher')).toMatchObject({
    ...{ tenant_id: '1', reference: 'gift_card.code', currency: 'upper(region.currency_code)' },
    current_balance: 'gateway.major_units(gift_card.balance, upper(region.currency_code))',
    date_valid_end: `gateway.last_day(gift_card.ends_at, 'UTC')`,
  })
  expect(read('voucher.sql')).toMatch(
    /from public\.gift_card\nleft join public\.region on .+\nwhere gift_card\.deleted_at is null;\n$/,
  )
  expect(columnsOf('product').category_ids).toMatch(/^array\(select product_category_id from public\./)
  expect(columnsOf('variant')).toMatchObject({
    slug: 'product_variant.sku',
    sort_order: 'product_variant.variant_rank',
  })
  expect(read('customer.sql')).toContain('Other tables with such a name: public."user".')
  expect(readdirSync(folder).filter(name => name.includes('.from.'))).toEqual([
    'product.from.product_category_product.sql',
    'tenant.from.store.sql',
    'voucher.from.region.sql',
  ])
})

test('for a platform with one shop the output has the mapping of its tenant, and names with SQL are quoted', async () => {
  const { platform, folder, command, stdout, read, columnsOf, apply } = await initialize(`
    create type currency as enum ('eur');
    create table "CouponPurchases" ("Id" integer primary key, "serialNumber" text, balance_cents bigint, purchase_value numeric, "Currency" currency,
      is_active boolean, expires_on date, created timestamp);
    create table "/../../Product" (id integer primary key, name text);
    create table "x
      ; drop table ""CouponPurchases"";" (id integer primary key, coupon integer references "CouponPurchases");
    alter table "CouponPurchases" add product integer references "/../../Product";
    insert into "CouponPurchases" values (7, 'AB-7', 1050, 12, 'eur', false, '2030-01-31', '2026-01-01')`)
  expect(stdout).toContain('customer: left out, because no table with a primary key of one column is called customer,')
  expect(readdirSync(folder)).toEqual(['tenant.sql', 'voucher.sql'])
  expect(columnsOf('voucher')).toMatchObject({ void: 'not "CouponPurchases".is_active' })
  expect(stdout).toMatch(/^tenant\.sql: one shop, because .+ Put its name and time zone\.$/m)
  await apply()
  const dated = { void: true, date_valid_end: '2030-01-31' }
  const row = { id: 7, reference: 'AB-7', current_balance: 10.5, currency: 'EUR', ...dated }
  expect(await platform`select ${platform(Object.keys(row))} from gateway.voucher`).toEqual([row])

  const former = read('voucher.sql')
  const stderr = `${folder} has tenant.sql, voucher.sql: move these away, or name another folder.\n`
  expect(await command('init')).toEqual({ code: 2, stdout: '', stderr })
  expect(read('voucher.sql')).toBe(former)
})
