/** Records follow their sources for every way of writing, and figures follow the records. `test/projection` has the sessions. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { beforeEach, test } from 'vitest'
import type { Sql } from '../../src/db/sql.ts'
import { createFigures, insertCustomers, insertVouchers } from './figure-records.ts'

const { platform, expectFollowed } = await createFigures()

beforeEach(async () => {
  await platform`truncate purchased_voucher, customer restart identity`
  await insertVouchers(platform)
  await insertCustomers(platform)
  await expectFollowed()
})

async function copy(sql: Sql, statement: string, text: string): Promise<void> {
  await pipeline(Readable.from([text]), await sql.unsafe(statement).writable())
}

const writes: Record<string, (sql: Sql) => Promise<unknown>> = {
  'an insert of one voucher': sql => insertVouchers(sql, 1),
  'an insert of many vouchers': sql => insertVouchers(sql),
  'a copy of vouchers': sql =>
    copy(
      sql,
      'copy purchased_voucher (tenant_id, reference, current_balance, currency) from stdin',
      Array.from({ length: 30 }, (_, n) => `${1 + (n % 3)}\tC${n}\t${n}\tEUR\n`).join(''),
    ),
  'an insert that updates': sql => sql`
    insert into purchased_voucher (id, tenant_id, reference, current_balance, currency)
    select id, tenant_id, reference, 1, 'EUR' from purchased_voucher where id in (1, 2)
    union all select 900, 2, 'upserted', 3, 'EUR'
    on conflict (id) do update set current_balance = 7, currency = 'EUR'`,
  'a merge': sql => sql`
    merge into purchased_voucher voucher using generate_series(3, 6) n on voucher.id = n
    when matched and n = 3 then delete
    when matched then update set void = not void
    when not matched then insert (tenant_id, reference) values (1, gen_random_uuid())`,
  ...Object.fromEntries(
    [
      'tenant_id = tenant_id % 3 + 1',
      'id = id + 1000',
      "purchase_timestamp = purchase_timestamp + interval '1 hour'",
      'date_valid_end = date_valid_end + 1, date_valid_start = date_valid_end',
      'product_id = product_id + 1, parent_product_id = null',
      'current_balance = current_balance / 2, initial_balance = initial_balance + 1',
      'currency = null, initial_balance = null, current_balance = null, purchase_value = null',
      "void = not void, redemption_status = 'Redeemed'",
    ].flatMap(change => [
      [`one voucher: ${change}`, (sql: Sql) => sql.unsafe(`update purchased_voucher set ${change} where id = 7`)],
      [`vouchers: ${change}`, (sql: Sql) => sql.unsafe(`update purchased_voucher set ${change} where id % 5 = 0`)],
    ]),
  ),
  'a deletion of one voucher': sql => sql`delete from purchased_voucher where id = 8`,
  'a deletion of vouchers': sql => sql`delete from purchased_voucher where id % 2 = 0`,
  'vouchers that come back under their ids': async sql => {
    await sql`delete from purchased_voucher where id in (1, 11, 13)`
    await sql`insert into purchased_voucher (id, tenant_id, reference) values (1, 4, 'back'), (8, 2, 'late')`
  },
  'a truncation of vouchers': sql => sql`truncate purchased_voucher`,
  'an insert of one customer': sql => insertCustomers(sql, 1),
  'an insert of many customers': sql => insertCustomers(sql),
  consents: sql => sql`update customer set consented_at = '2026-06-01T12:34:56Z' where id in (4, 9)`,
  'consents that are forgotten': sql => sql`update customer set consented_at = null where id in (2, 3)`,
  'consents that are withdrawn': sql => sql`update customer set marketing_opted = false where id % 6 = 0`,
  'customers of another tenant': sql => sql`update customer set tenant_id = tenant_id % 3 + 1`,
  'other ids of customers': sql => sql`update customer set id = id + 1000 where id % 7 = 0`,
  'other ids of customers who withdraw their consent': sql => sql`
    update customer set id = id + 1000, marketing_opted = false where id % 10 = 0`,
  'customers who give their consent and are deleted': async sql => {
    await sql`update customer set marketing_opted = true, consented_at = now() where id in (5, 13)`
    await sql`delete from customer where id in (5, 13)`
  },
  'customers whose consent is forgotten, and who are deleted': async sql => {
    await sql`update customer set consented_at = null where id in (1, 15, 16)`
    await sql`delete from customer where id in (1, 15, 16)`
  },
  'customers whose consent is forgotten, and who get other ids': async sql => {
    await sql`update customer set consented_at = null where id in (17, 18)`
    await sql`update customer set id = id + 1000 where id in (17, 18)`
  },
  'a deletion of one customer': sql => sql`delete from customer where id = 19`,
  'a deletion of customers': sql => sql`delete from customer where id between 20 and 30`,
  'customers whose consent is forgotten, and a truncation': async sql => {
    await sql`update customer set consented_at = null where id > 30`
    await sql`truncate customer`
  },
}

test('every way of writing is followed', async () => {
  for (const [what, write] of Object.entries(writes)) {
    await write(platform)
    await expectFollowed(what)
  }
})

test('all of them are followed at once', async () => {
  for (const write of Object.values(writes)) await write(platform)
  await expectFollowed()
})
