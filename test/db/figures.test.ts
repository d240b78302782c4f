/** The entries of figures become those of the records, however these are written, and the rollups those of the entries. */
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { beforeEach, describe, expect, test } from 'vitest'
import { connect, type Sql, serviceRole } from '../../src/db/connect.ts'
import { listTriggers } from '../../src/db/own-triggers.ts'
import { checkFigures } from '../../src/domain/figure-check.ts'
import { createDatabase } from '../support/database.ts'
import { followed } from '../support/followed.ts'

const { pool, platform, loader, address } = await createDatabase()
await platform`insert into tenant (id, parent_id, name) values (1, null, 'A'), (2, 1, 'B'), (3, 2, 'C'), (4, null, 'D')`

/** What the entries have to be, counted from the records by other means. */
const expected = {
  voucher: `
    select id, tenant_id,
           case when void then 'void' when lower(redemption_status) = 'redeemed' or current_balance <= 0 then 'redeemed'
                when current_balance < initial_balance then 'part' else 'full' end as state,
           purchase_timestamp, date_valid_start, date_valid_end, coalesce(parent_product_id, product_id) as product_id,
           currency, initial_balance, current_balance, purchase_value
    from purchased_voucher order by id`,
  consent: 'select id, tenant_id, consented_at from customer where consented_at is not null order by id',
}

async function expectEntriesOfRecords(what?: string): Promise<void> {
  for (const [kind, records] of Object.entries(expected)) {
    const entries = await platform.unsafe(`select * from gateway.${kind}_entry order by id`)
    expect([...entries], what).toEqual([...(await platform.unsafe(records))])
  }
  const withdrawals = await platform`
    select id, tenant_id, updated_at from gateway.removal where reason = 'consent_withdrawn' order by id`
  expect(await platform`select * from gateway.withdrawal_entry order by id`, what).toEqual(
    withdrawals.map(({ updated_at, ...removal }) => ({ ...removal, withdrawn_at: updated_at })),
  )
}

/** Lets the figures follow, and compares them with the records. */
async function expectFollowed(what?: string): Promise<void> {
  await followed(pool)
  expect(await checkFigures(pool), what).toEqual({ asOf: expect.any(String), differences: [] })
  await expectEntriesOfRecords(what)
}

const insertVouchers = (sql: Sql, count = 40) => sql`
  insert into purchased_voucher (tenant_id, reference, initial_balance, current_balance, purchase_value, currency,
    purchase_timestamp, date_valid_end, product_id, parent_product_id)
  select 1 + n % 3, gen_random_uuid(), 50, 50 - n % 3 * 25, 45.5,
         case when n % 4 > 0 then 'EUR' else 'USD' end,
         case when n % 5 > 0 then timestamptz '2026-01-31T22:59:59Z' + n * interval '1 hour' end,
         case when n % 6 > 0 then date '2027-01-01' + n % 7 end, nullif(n % 4, 0), nullif(n % 8, 0)
  from generate_series(1, ${count}::int) n`

const insertCustomers = (sql: Sql, count = 40) => sql`
  insert into customer (tenant_id, marketing_opted, consented_at)
  select 1 + n % 3, n % 2 = 0, case when n % 4 > 0 then timestamptz '2026-03-01T00:30:00Z' + n * interval '20 minutes' end
  from generate_series(1, ${count}::int) n`

async function copy(sql: Sql, statement: string, text: string): Promise<void> {
  await pipeline(Readable.from([text]), await sql.unsafe(statement).writable())
}

/** Statements of a platform. */
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
  'a truncation of vouchers': async sql => {
    await sql`set constraints all immediate`
    await sql`truncate purchased_voucher`
  },
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
    await sql`set constraints all immediate`
    await sql`truncate customer`
  },
}

/** The kinds of sessions: which triggers they set off. */
const sessions = [
  { session: 'an ordinary session', role: 'origin' },
  { session: 'an applier', role: 'replica' },
]

const undone = new Error('undone')

/** Makes a step of the follower. */
const step = async (sql: Sql, atMost: number) => (await sql`select gateway.follow(${atMost}) as more`)[0]?.more

beforeEach(async () => {
  await platform`truncate purchased_voucher, customer restart identity`
  await insertVouchers(platform)
  await insertCustomers(platform)
  await expectFollowed()
})

describe.each(sessions)('$session', ({ role }) => {
  const run = (write: (sql: Sql) => Promise<unknown>) =>
    platform.begin(async sql => {
      await sql`select set_config('session_replication_role', ${role}, true)`
      await write(sql)
    })

  test('every way of writing is followed', async () => {
    for (const [what, write] of Object.entries(writes)) {
      await run(write)
      await expectFollowed(what)
    }
  })

  test('all of them are followed at once, in one transaction and in several', async () => {
    const { 'a copy of vouchers': _, ...others } = writes
    await run(async sql => {
      for (const write of Object.values(others)) await write(sql)
      await insertVouchers(sql)
      await insertCustomers(sql)
    })
    await expectFollowed('one transaction')
    for (const write of Object.values(writes)) await run(write)
    await expectFollowed('several transactions')
  })

  test('what savepoints undo is not followed, and what comes after them is', async () => {
    const write = async (sql: Sql) => {
      for (const each of Object.values(writes).slice(-20)) await each(sql)
    }
    await run(async outer => {
      const sql = outer as typeof outer & { savepoint: (body: (sql: Sql) => Promise<unknown>) => Promise<unknown> }
      await sql.savepoint(inner => write(inner).then(() => Promise.reject(undone))).catch(() => {})
      await sql`update customer set consented_at = now() where id in (2, 3)`
      await sql.savepoint(inner => inner`update purchased_voucher set void = true where id < 4`)
      await sql.savepoint(inner => write(inner).then(() => Promise.reject(undone))).catch(() => {})
    })
    await expectFollowed()
    await run(sql => write(sql).then(() => Promise.reject(undone))).catch(() => {})
    await expectFollowed()
  })

  test.each([1, 3000])('%i rows are followed that get another stamp at their commit', async rows => {
    await run(async sql => {
      await sql`insert into customer (tenant_id, consented_at) select 3, now() from generate_series(1, ${rows}::int)`
      await insertVouchers(sql, rows)
      // The write marker does not hold the watermark any more.
      await sql`select pg_sleep(0.02)`
      await followed(pool)
    })
    await expectFollowed()
  })

  test('rows with a stamp ahead are followed at once, and again when it has passed', async () => {
    await run(async sql => {
      await sql`select gateway.announce_bulk_write('2 seconds')`
      await insertVouchers(sql, 3)
      await insertCustomers(sql, 3)
    })
    await expectFollowed('ahead')
    expect(await pool`select cardinality(planned) as planned from gateway.follower`).toEqual([{ planned: 1 }])
    const ahead = (sql: Sql) => sql`updated_at > clock_timestamp()`
    await platform`update purchased_voucher set void = true where id = (select min(id) from purchased_voucher where ${ahead(platform)})`
    await platform`delete from purchased_voucher where id = (select max(id) from purchased_voucher where ${ahead(platform)})`
    await platform`update customer set consented_at = now() where id = (select max(id) from customer where ${ahead(platform)})`
    await expectFollowed('changed by others')
    while ((await pool`select from purchased_voucher where ${ahead(pool)} limit 1`).length > 0);
    await expectFollowed('passed')
    expect(await pool`select planned from gateway.follower`).toEqual([{ planned: '{}' }])
  })
})

test('what no figure shows writes no entry', async () => {
  const readPlaces = () => platform`
    select ctid::text from gateway.voucher_entry union all select ctid::text from gateway.consent_entry`
  const before = await readPlaces()
  await platform`update purchased_voucher set recipient_name = 'R'`
  await platform`update customer set forename = 'F'`
  await expectFollowed()
  expect(await readPlaces()).toEqual(before)
})

test('a loader that keeps stamps is followed by a fill', async () => {
  const old = '2020-01-01T00:00:00Z'
  await insertVouchers(loader)
  await loader`update purchased_voucher set updated_at = ${old}, void = true where id = 5`
  await expectFollowed()
  await platform.begin(async sql => {
    await sql`set local gateway.keep_updated_at = 'on'`
    const load = (on: Sql) => on`insert into customer (tenant_id, consented_at, updated_at) values (1, now(), ${old})`
    await sql.savepoint(inner => load(inner).then(() => Promise.reject(undone))).catch(() => {})
    await load(sql)
  })
  await expectFollowed()
})

test('a fill that is stopped goes on, and loses no change that is made meanwhile', async () => {
  await pool`select gateway.recount_figures()`
  await platform`update gateway.voucher_entry set current_balance = 1 where id % 3 = 0`
  await platform`delete from gateway.voucher_entry where id % 7 = 0`
  await platform`insert into gateway.consent_entry values (5000, 1, now()), (5001, 1, now())`
  const changes = [
    'delete from purchased_voucher where id = 2',
    'delete from purchased_voucher where id = 39',
    'update purchased_voucher set tenant_id = 4 where id in (4, 38)',
    "insert into purchased_voucher (id, tenant_id, reference) values (2, 1, 'back')",
    'update purchased_voucher set id = 1 + 100 * id where id in (1, 30)',
    'delete from customer where id in (1, 37)',
    'update customer set marketing_opted = false where id in (2, 36)',
  ]
  let steps = 0
  for (let more = true; more; steps++) {
    expect((await checkFigures(pool)).asOf, 'not counted yet').toBeNull()
    const change = changes[steps]
    if (change) await platform.unsafe(change)
    await platform.begin(sql => step(sql, 5).then(() => Promise.reject(undone))).catch(() => {})
    more = await step(pool, 5)
  }
  expect(steps).toBeGreaterThan(changes.length)
  await expectEntriesOfRecords()
  await expectFollowed()
})

test('the figures keep their instant while they are filled again', async () => {
  const readInstant = async () => (await pool`select as_of::text from gateway.follower`)[0]?.as_of
  await insertVouchers(loader)
  const before = await readInstant()
  expect(await step(pool, 5)).toBe(true)
  expect(await step(pool, 5)).toBe(true)
  expect(await readInstant()).toBe(before)
  await followed(pool)
  expect((await readInstant()) > before).toBe(true)
})

test('an event that requires a full pass lets the figures be filled again', async () => {
  await platform`alter table purchased_voucher disable trigger user`
  await platform`update purchased_voucher set void = true, updated_at = '2020-01-01' where id < 10`
  await platform.begin(async sql => {
    await sql`alter table purchased_voucher enable trigger user`
    for (const [name, firing] of Object.entries(listTriggers)) {
      if (firing !== 'origin') await sql.unsafe(`alter table purchased_voucher enable ${firing} trigger ${name}`)
    }
  })
  await followed(pool)
  expect((await checkFigures(pool)).differences).toMatchObject([{ of: 'entries', kind: 'voucher', rows: 9 }])
  await pool`select gateway.require_full_pass()`
  expect((await checkFigures(pool)).asOf).toBeNull()
  await expectFollowed()
})

test('a recount corrects entries and rollups', async () => {
  await platform`update gateway.voucher_entry set current_balance = 1`
  await platform`update gateway.figure_rollup set records = 7`
  expect((await checkFigures(pool)).differences).toContainEqual(expect.objectContaining({ of: 'rollups' }))
  await pool`select gateway.recount_figures()`
  expect((await checkFigures(pool)).asOf).toBeNull()
  await expectFollowed()
})

test('more changes than one step reads are followed by a fill', async () => {
  const define = (most: number) =>
    platform.unsafe(`create or replace function gateway.most_followed() returns integer language sql immutable
                     return ${most}`)
  await define(20)
  // Other connections have plans with the former number.
  const follower = connect(address, { max: 1, statementTimeoutMs: 10_000, role: serviceRole })
  await platform`update purchased_voucher set void = true where id <= 20`
  expect(await step(follower, 100)).toBe(false)
  await platform`update purchased_voucher set void = (id = 21) where id <= 21`
  expect(await step(follower, 100)).toBe(true)
  await follower.end()
  await expectFollowed()
  await define(150_000)
})

describe('a purge of removals', () => {
  test.each(['delete from gateway.removal', 'truncate gateway.removal'])('%s', async purge => {
    await platform`update customer set marketing_opted = false where id in (2, 4)`
    await expectFollowed()
    const readWithdrawals = () => platform`select * from gateway.withdrawal_entry order by id`
    const withdrawals = await readWithdrawals()
    await platform`delete from purchased_voucher where id < 10`
    await platform`delete from customer where id in (4, 8, 9)`
    await platform.unsafe(purge)
    await followed(pool)
    expect((await checkFigures(pool)).differences).toEqual([])
    expect(await platform`select from gateway.voucher_entry where id < 10`).toHaveLength(0)
    expect(await readWithdrawals()).toEqual(withdrawals)
    await platform`truncate gateway.withdrawal_entry`
    await pool`select gateway.recount_figures()`
  })

  test('that deletes only what was read requires no fill', async () => {
    await platform`delete from purchased_voucher where id < 10`
    await expectFollowed()
    await platform`delete from gateway.removal where reason = 'deleted'`
    expect(await pool`select from gateway.fill_request`).toHaveLength(0)
    await expectFollowed()
  })
})

test('one transaction follows at a time, and a second one does not wait', async () => {
  await platform.begin(async sql => {
    expect(await step(sql, 10)).toBe(false)
    expect(await step(pool, 10)).toBeNull()
  })
  expect(await step(pool, 10)).toBe(false)
})

test('each snapshot is exact while writers and the follower run', async () => {
  const write = async (writer: number) => {
    for (let turn = 0; turn < 15; turn++) {
      const role = turn % 2 > 0 ? 'replica' : 'origin'
      const written = platform.begin(async sql => {
        await sql`select set_config('session_replication_role', ${role}, true)`
        if (turn % 5 === 0) await sql`select gateway.announce_bulk_write('100 milliseconds')`
        await insertVouchers(sql, 1 + ((writer * turn) % 25))
        await sql`update purchased_voucher set current_balance = current_balance / 2 where id % 7 = ${turn % 7}`
        if (turn % 3 === 0) await sql`select pg_sleep(0.02)`
        await sql`update customer set marketing_opted = not marketing_opted where id % 9 = ${turn % 9}`
        await sql`delete from customer where id = ${writer * 10 + turn}`
      })
      // Of writers that wait for each other, one fails.
      await written.catch(() => {})
    }
  }
  let writing = true
  const done = Promise.all([write(1), write(2), write(3)]).finally(() => {
    writing = false
  })
  const follow = async () => {
    while (writing) await step(pool, 7)
  }
  const verify = async () => {
    for (let checks = 0; writing || checks < 3; checks++) expect((await checkFigures(pool)).differences).toEqual([])
  }
  await Promise.all([done, follow(), follow(), verify()])
  await expectFollowed()
})

test('the platform may change the types of columns', async () => {
  await platform`alter table purchased_voucher alter initial_balance type numeric(15, 3), alter product_title type varchar`
  await platform`alter table customer alter consented_at type timestamptz(6)`
  await platform`update purchased_voucher set initial_balance = 33`
  await expectFollowed()
  await platform`alter table purchased_voucher alter initial_balance type numeric, alter product_title type text`
  await expectFollowed()
})
