/**
 * Steps write records that differ from the result of their mapping, each with a separate stamp, and the head of each
 * list, which is the stamp of the last change of the list (I12).
 */
import { expect, test } from 'vitest'
import type { Sql } from '../../src/db/sql.ts'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { deletePassedNotes, makeStep } from '../../src/projection/step.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { createDatabase } from '../support/database.ts'
import { makeNextStep, projected } from '../support/projected.ts'
import { expectProjected, findRecordProblems } from '../support/record-problems.ts'
import { readSelect, writeUncaptured } from '../support/uncaptured.ts'

const { pool, platform, build } = await createDatabase()

const project = async () => {
  while (await makeStep(pool, 5000)) {}
}

/**
 * Runs a change and the following steps. @returns the records and removals with new stamps, such as `voucher 7`, and
 * the lists with new heads
 */
async function changedBy(change: string): Promise<{ records: string[]; lists: string[] }> {
  await project()
  const [{ stamp }] = await platform<[{ stamp: string }]>`select max(stamp)::text as stamp from gateway.step`
  await platform.unsafe(change)
  await project()
  const types = ['tenant', 'category', 'variant', 'product', 'voucher', 'customer']
  const stamped = types.map(type => `select '${type} ' || id as record, updated_at from gateway.${type}`)
  const removals = `select concat_ws(' ', reason, record, id, 'of', tenant_id), updated_at from gateway.removal`
  const rows = await platform.unsafe<{ record: string }[]>(`
    select record from (${[...stamped, removals].join(' union all ')}) changed
    where updated_at > '${stamp}' order by updated_at`)
  const lists = await platform<{ tenantId: number; record: string }[]>`
    select tenant_id as "tenantId", record from gateway.list_head
    where changed_at > ${stamp}::text::timestamptz order by tenant_id, record`
  expect([await findRecordProblems(pool), (await checkFigures(pool)).differences]).toEqual([[], []])
  return {
    records: rows.map(({ record }) => record),
    lists: lists.map(({ tenantId, record }) => `${names[tenantId]} ${record}`),
  }
}

/** The columns that each row of the catalogue must have. */
const requiredColumns = { slug: 'slug', title: 'Title' }

const tenant = await build.tenant({ name: 'Old Mill' })
const other = await build.tenant()
const product = await build.product(tenant)
const category = await build.category(tenant, [product])
const foreign = await build.category(other, [product])
const variant = await build.variant(product)
const gift = await build.voucher(tenant, { reference: 'GIFT-1' })
const customer = await build.customer(tenant)
const [north, south] = [await build.tenant(), await build.tenant()]
const region = await build.tenant({ parent_id: north })
const shop = await build.tenant({ parent_id: region })
const names: Record<number, string> = {
  ...{ [tenant]: 'mill', [other]: 'other', [north]: 'north', [south]: 'south', [region]: 'region', [shop]: 'shop' },
}

test.each<[what: string, change: string, records: string[], lists: string[]]>([
  ['what v1 does not show', `update purchased_voucher set customer_name = 'Ann'`, [], []],
  ['a voucher', 'update purchased_voucher set void = true', [`voucher ${gift}`], ['mill voucher']],
  ['a variant', `update variant set title = 'Spa'`, [`variant ${variant}`, `product ${product}`], ['mill product']],
  [
    'a category',
    `update category set title = 'Spa' where id = ${category}`,
    [`category ${category}`, `product ${product}`],
    ['mill product'],
  ],
  ['a category of others', `update category set title = 'Spa' where id = ${foreign}`, [`category ${foreign}`], []],
  [
    'a voucher that moves',
    `update purchased_voucher set tenant_id = ${other}`,
    [`voucher ${gift}`, `moved voucher ${gift} of ${tenant}`],
    ['mill voucher', 'other voucher'],
  ],
  ['a deleted voucher', 'delete from purchased_voucher', [`deleted voucher ${gift} of ${other}`], ['other voucher']],
  ['a customer', `update customer set forename = 'Ann'`, [`customer ${customer}`], ['mill customer']],
  [
    'a consent that is withdrawn, with an instant that v1 cannot show',
    `update customer set marketing_opted = false, tenant_id = ${other}, consented_at = '-infinity'`,
    [`customer ${customer}`, `consent_withdrawn customer ${customer} of ${tenant}`],
    ['mill customer'],
  ],
  ['a customer without consent, who is deleted', `update customer set forename = 'Bob'; delete from customer`, [], []],
  ['a tenant', `update tenant set name = 'New' where id = ${tenant}`, [`tenant ${tenant}`], ['mill tenant']],
  [
    'a tenant that moves with the tenants below it',
    `update tenant set parent_id = ${south} where id = ${region}`,
    [`tenant ${region}`, `tenant ${shop}`, `moved tenant ${region} of ${north}`, `moved tenant ${shop} of ${north}`],
    ['north tenant', 'region tenant', 'shop tenant'],
  ],
  [
    // The list of the deleted tenant gets a new head too, because a token may include only this tenant.
    'a tenant that is deleted',
    `delete from tenant where id = ${shop}`,
    [`deleted tenant ${shop} of ${south}`, `deleted tenant ${shop} of ${region}`],
    ['south tenant', 'region tenant', 'shop tenant'],
  ],
])('the stamps, removals and heads of %s', async (what, change, records, lists) => {
  expect(await changedBy(change)).toEqual({ records, lists })
  if (!what.startsWith('a consent')) return
  const [kept] = await platform`select email, full_name, marketing_opted as opted from gateway.customer`
  expect(kept).toEqual({ email: null, full_name: null, opted: false })
})

test('list heads are right after steps with parts of the changes, and after a scan without changes', async () => {
  for (let n = 0; n < 20; n++) await build.voucher(n % 2 ? tenant : other)
  while (await makeNextStep(pool, 3)) expect((await checkFigures(pool)).differences).toEqual([])
  await platform`select gateway.request_scan('voucher', 'A test compares all.')`
  expect(await changedBy('select')).toEqual({ records: [], lists: [] })
})

test('a mapping that did not fit during an upgrade gets the new writer function when it fits again', async () => {
  const voucher = await build.voucher(tenant)
  await project()
  const [{ writer }] = await platform<[{ writer: string }]>`
    select pg_get_functiondef('gateway.write_voucher'::regproc) as writer`
  const former = writer.replace(/\(select array_agg\(\(tenant_id, 'voucher'.*?from head\)/s, 'null')
  expect(former).not.toBe(writer)
  await platform.unsafe(former)
  await platform`alter table purchased_voucher rename column void_reason to reason_of_void`
  await platform`call gateway.prepare_mappings(false)`
  await platform`alter table purchased_voucher rename column reason_of_void to void_reason`
  const change = `update purchased_voucher set void = not void where id = ${voucher}`
  expect((await changedBy(change)).lists).toEqual(['mill voucher'])
})

test('a product gets a new stamp with its variants and categories, but not when a write changes nothing', async () => {
  const [one, two] = [await build.product(tenant), await build.product(tenant)]
  const part = await build.variant(one)
  const category = await build.category(tenant, [one, two])
  const [first, second] = [`product ${one}`, `product ${two}`]
  const statements: [statement: string, moved: string[]][] = [
    [`update product set title = 'New' where id = ${one}`, [first]],
    [`insert into variant (product_id, slug, title, currency) values (${two}, 'v', 'V', 'GBP')`, [second]],
    [`update variant set price = 5 where id = ${part}`, [first]],
    [`update variant set price = 5 where product_id in (${one}, ${two})`, [second]],
    [`update variant set product_id = ${two} where id = ${part}`, [first, second]],
    [`delete from variant where id = ${part}`, [second]],
    [`update category set title = 'New' where id = ${category}`, [first, second]],
    [`delete from product_category where product_id = ${one}`, [first]],
    [`insert into product_category values (${one}, ${category})`, [first]],
    [`delete from category where id = ${category}`, [first, second]],
    [`update tenant set subdomain = 'mill' where id = ${tenant}`, [`tenant ${tenant}`]],
    ['update product set title = title; update variant set title = title; update tenant set name = name', []],
    ['update category set title = title; update product_category set category_id = category_id', []],
    ['update purchased_voucher set reference = reference; update customer set email = email', []],
  ]
  for (const [statement, moved] of statements) {
    const { records } = await changedBy(statement)
    expect(records.filter(record => !/^(variant|category) /.test(record)).sort(), statement).toEqual(moved)
  }
})

test('changes of a transaction that overlaps steps are written by a step after its commit (I2)', async () => {
  const ids: number[] = []
  const add = async (sql: Sql, reference: string) => {
    const [row] = await sql<[{ id: number }]>`
      insert into purchased_voucher (tenant_id, reference) values (${tenant}, ${reference}) returning id`
    ids.push(row.id)
  }
  const records = async () => {
    const rows = await platform`select reference from gateway.voucher where id in ${platform(ids)} order by id`
    return rows.map(({ reference }) => reference)
  }
  await platform.begin(async long => {
    await add(long, 'LONG')
    await add(platform, 'SHORT')
    await project()
    expect(await records()).toEqual(['SHORT'])
    await long
      .savepoint(async inner => {
        await add(inner, 'ROLLED BACK')
        throw new Error('undo')
      })
      .catch(() => {})
    await project()
    await deletePassedNotes(pool)
  })
  await project()
  await deletePassedNotes(pool)
  expect(await records()).toEqual(['LONG', 'SHORT'])
  expect(await findRecordProblems(pool)).toEqual([])
})

test('a row that breaks a rule is rejected with the reason, and its record stays until the repair (I9)', async () => {
  const id = await build.voucher(tenant, { reference: 'WELL' })
  await project()
  await platform`update purchased_voucher set date_valid_end = 'infinity', reference = 'ILL' where id = ${id}`
  await project()
  const reason = 'date_valid_end is not in the years 1 to 9999: infinity'
  expect(await findRecordProblems(pool)).toMatchObject([{ record: 'voucher', reason, keys: 1, firstKeys: [`${id}`] }])
  expect(await platform`select reference from gateway.voucher where id = ${id}`).toEqual([{ reference: 'WELL' }])
  const { records } = await changedBy(`update purchased_voucher set date_valid_end = null where id = ${id}`)
  expect(records).toEqual([`voucher ${id}`])
})

test('a rejected row leaves the list of its former tenant, and the signups when the consent is withdrawn', async () => {
  const shown = await build.product(tenant)
  await platform`alter table purchased_voucher alter column reference drop not null, alter column tenant_id drop not null`
  const [size, moved] = [await build.variant(product), await build.product(tenant)]
  const [voucher, ownerless] = [await build.voucher(tenant), await build.voucher(tenant)]
  const [guest, member] = [await build.customer(tenant), await build.customer(tenant)]
  const write = (statements: string) => platform.unsafe(statements).simple().then(project)
  await project()
  await write(`
    update variant set product_id = ${shown}, currency = 'gbp' where id = ${size};
    update product set tenant_id = ${other}, validity_months = -1 where id = ${moved};
    update purchased_voucher set tenant_id = ${other}, reference = null where id = ${voucher};
    update purchased_voucher set tenant_id = null where id = ${ownerless};
    update customer set tenant_id = ${other}, email = 'ann' where id = ${guest};
    update customer set marketing_opted = false, created_at = 'infinity' where id = ${member}`)
  const left = await platform`
    select concat_ws(' ', reason, record, id) as removal from gateway.removal order by updated_at desc limit 5`
  expect(left.map(({ removal }) => removal).sort()).toEqual([
    `consent_withdrawn customer ${member}`,
    `deleted voucher ${ownerless}`,
    `moved customer ${guest}`,
    `moved product ${moved}`,
    `moved voucher ${voucher}`,
  ])
  const records = await platform`
    select from gateway.variant where id = ${size} union all select from gateway.product where id = ${moved}
    union all select from gateway.voucher where id in (${voucher}, ${ownerless})
    union all select from gateway.customer where id in (${guest}, ${member})`
  expect(records).toHaveLength(0)

  await platform`update gateway.rejected set since = since - interval '2 hours'`
  await write(`update purchased_voucher set reference = 'R', qr_token = 'https://a.example' where id = ${voucher}`)
  const rejection = await platform`
    select reason, since < now() - interval '1 hour' as is_old from gateway.rejected where key = ${voucher}::text`
  expect(rejection).toEqual([{ reason: 'qr_token is a URL', is_old: true }])
  await write(`
    update variant set currency = 'GBP' where id = ${size};
    update product set validity_months = 1 where id = ${moved};
    delete from purchased_voucher where id in (${voucher}, ${ownerless});
    update customer set email = null where id = ${guest};
    update customer set created_at = now() where id = ${member}`)
  expect(await findRecordProblems(pool)).toEqual([])
})

const badReference = { reference: 'BAD' }
const reversed = { date_valid_start: '2026-01-02', date_valid_end: '2026-01-01' }

test.each<[table: string, row: Record<string, string | number>, reason: string]>([
  ['tenant', { name: '' }, 'name is empty'],
  ['tenant', { name: 'Spa', subdomain: '' }, 'subdomain is empty'],
  [
    'variant',
    { ...requiredColumns, currency: 'GBP', price: 1.001 },
    'price is not an amount of the currency GBP: 1.001',
  ],
  ['variant', { ...requiredColumns, currency: 'gbp' }, 'currency is not three capital letters: gbp'],
  [
    'product',
    { ...requiredColumns, currency: 'GBP', sale_price: 'NaN' },
    'sale_price is not an amount of the currency GBP: NaN',
  ],
  ['product', { ...requiredColumns, currency: 'GBP', validity_months: -1 }, 'validity_months is negative'],
  ['product', { ...requiredColumns, currency: 'GBP', image_urls: '{a,null}' }, 'image_urls contains null'],
  [
    'product',
    { ...requiredColumns, currency: 'GBP', image_urls: '{{a},{b}}' },
    'image_urls has more than one dimension',
  ],
  ['purchased_voucher', { reference: '\u200b' }, 'reference is empty'],
  ['purchased_voucher', { ...badReference, qr_token: '\t' }, 'qr_token is empty'],
  ['purchased_voucher', { ...badReference, qr_token: ' HTTPS://a.example' }, 'qr_token is a URL'],
  ['purchased_voucher', { ...badReference, product_id: 0 }, 'an id is not between 1 and 2^53 - 1'],
  [
    'purchased_voucher',
    { ...badReference, current_balance: 1 },
    'current_balance is not an amount of the currency (none): 1',
  ],
  ['purchased_voucher', { ...badReference, ...reversed }, 'date_valid_end is before date_valid_start'],
  ['customer', { email: 'ann' }, 'email is no e-mail address'],
  ['customer', { countryiso2: 'GBR' }, 'countryiso2 is not two letters'],
  ['customer', { consented_at: 'infinity' }, 'consented_at is not in the years 1 to 9999: infinity'],
  ['customer', { id: -1 }, 'the key is not between 1 and 2^53 - 1'],
  ['customer', { id: '1000000000000000000' }, 'the key is not between 1 and 2^53 - 1'],
])('a row of %s that v1 cannot show is rejected: %j', async (table, row, reason) => {
  const owner = table === 'variant' ? { product_id: product } : table === 'tenant' ? {} : { tenant_id: tenant }
  const consent = table === 'customer' ? { marketing_opted: true } : {}
  const [{ id }] = await platform<[{ id: number }]>`
    insert into ${platform(table)} ${platform({ ...owner, ...consent, ...row })} returning id`
  await project()
  expect(await findRecordProblems(pool)).toMatchObject([{ reason, keys: 1, firstKeys: [String(id)] }])
  await platform`delete from ${platform(table)} where id = ${id}`
  await expectProjected(pool)
})

test('each column that a rule compares has a comment for authors of mappings', async () => {
  const rules = await platform<{ record: string; definition: string }[]>`
    select record::text, pg_get_functiondef(format('gateway.error_of(gateway.%I)', record || '_fields')::regprocedure) as definition
    from unnest(enum_range(null::gateway.record_type)) record`
  const compared = rules.flatMap(({ record, definition }) =>
    [...definition.matchAll(/\(?candidate\)?\.(\w+)/g)].map(([, column]) => `${record}_fields.${column}`),
  )
  const described = await platform<{ path: string }[]>`
    select relname || '.' || attname as path from pg_description
    join pg_class on pg_class.oid = objoid join pg_attribute on attrelid = objoid and attnum = objsubid`
  expect(compared).toContain('voucher_fields.qr_token')
  expect(compared.filter(column => !described.some(({ path }) => path === column))).toEqual([])
})

test('a small transaction is written before a large, older one is complete', async () => {
  await project()
  await platform`
    insert into purchased_voucher (tenant_id, reference) select ${tenant}, 'LOAD-' || place from generate_series(1, 900) place`
  const small = await build.voucher(tenant)
  expect(await makeStep(pool, 300)).toBe(true)
  await platform`update gateway.step set behind_since = behind_since - interval '1 minute'`
  expect(await platform`select id from gateway.voucher where id = ${small}`).toHaveLength(1)
  expect(await platform`select id from gateway.voucher where reference like 'LOAD-%'`).toHaveLength(299)
  // New transactions get three quarters of a step; the waiting keys get the rest.
  const sell = () => platform`
    insert into purchased_voucher (tenant_id, reference) values (${tenant}, 'SMALL-' || gen_random_uuid())`
  await Promise.all(Array.from({ length: 400 }, sell))
  await makeStep(pool, 300)
  expect((await readStepState(pool)).secondsBehind).toBeGreaterThanOrEqual(60)
  const [found] = await platform`
    select count(*) filter (where reference like 'SMALL-%') as small, count(*) filter (where reference like 'LOAD-%') as large
    from gateway.voucher`
  expect(found).toEqual({ small: 225, large: 374 })
  // While no new transaction waits, a step takes five times the number of keys.
  await makeStep(pool, 300)
  expect(await platform`select id from gateway.voucher where reference like 'LOAD-%'`).toHaveLength(900)
  expect((await readStepState(pool)).secondsBehind).toBe(0)
})

test('records of a large transaction are written after the records that they refer to (I5)', async () => {
  const id = 777_777
  await writeUncaptured(platform, async sql => {
    await sql`alter table purchased_voucher enable always trigger capture_inserted`
    await sql`insert into purchased_voucher (tenant_id, reference) select ${id}, 'EARLY-' || n from generate_series(1, 500) n`
    await sql`insert into tenant (id, name) values (${id}, 'Late Mill')`
  })
  for (let more: boolean | null = true; more; ) {
    more = await makeStep(pool, 100)
    expect(await platform`select from gateway.rejected where tenant_id is not null`).toEqual([])
  }
  expect(await platform`select from gateway.voucher where tenant_id = ${id}`).toHaveLength(500)
})

test('a key with several notes counts once in a step', async () => {
  const [often, once] = [await build.voucher(tenant), await build.voucher(tenant)]
  await project()
  for (const code of ['A', 'B', 'C'])
    await platform`update purchased_voucher set qr_token = ${code} where id = ${often}`
  await platform`update purchased_voucher set qr_token = 'D' where id = ${once}`
  while (await makeStep(pool, 2)) {}
  expect(await platform`select qr_token as code from gateway.voucher where id in ${platform([often, once])}`).toEqual([
    { code: 'C' },
    { code: 'D' },
  ])
})

test('a step holds no lock of a source or partition after it has read it', async () => {
  const text = await readSelect(platform, 'voucher')
  await platform
    .unsafe(`create table flag (code integer primary key) partition by range (code);
      create table flag_part partition of flag default;
      insert into flag values (1)`)
    .simple()
  const rules = { flag: 'select id::text from public.purchased_voucher, changed where changed.code is not null' }
  await platform`
    call gateway.install_mapping('voucher', ${`${text} where exists (select from public.flag)`}, ${JSON.stringify(rules)}::text::jsonb)`
  await platform`call gateway.capture('public.flag')`
  await project()
  await platform`update flag set code = 2`
  await platform`update purchased_voucher set product_title = 'Held'`
  await platform.begin('isolation level repeatable read', async step => {
    await step`lock table gateway.step_lock in exclusive mode`
    await step`select gateway.make_step(1000)`
    expect(await step`select from gateway.voucher where product_title = 'Held'`).not.toHaveLength(0)
    const held = await step`
      select relation::regclass::text from pg_locks join pg_class on pg_class.oid = relation
      where pid = pg_backend_pid() and relnamespace = 'public'::regnamespace`
    expect(held).toEqual([])
  })
  await platform`call gateway.install_mapping('voucher', ${text}, '{}')`
  await expectProjected(pool)
})

test('a locked table delays only its own records (I3, I9)', async () => {
  const id = await build.voucher(tenant)
  const other = await build.product(tenant)
  await platform.begin(async sql => {
    await sql`lock table purchased_voucher in access exclusive mode`
    expect(await makeStep(pool, 5000)).toBe(true)
    expect(await platform`select id from gateway.product where id = ${other}`).toHaveLength(1)
  })
  await project()
  expect(await platform`select id from gateway.voucher where id = ${id}`).toHaveLength(1)
})

test('of two instances, only one runs a step at a time (I1)', async () => {
  await platform.begin(async sql => {
    await sql`lock table gateway.step_lock in exclusive mode`
    await expect(makeStep(pool, 10)).rejects.toMatchObject({ code: '55P03' })
  })
  expect(await makeStep(pool, 10)).toBeNull()
})

test('a renamed column fails no write; its mapping is reported, and recovers (I9)', async () => {
  await project()
  await platform`alter table purchased_voucher rename column reference to number`
  await platform`update purchased_voucher set current_balance = 1, currency = 'GBP'`
  const other = await build.product(tenant)
  await project()
  expect(await findRecordProblems(pool)).toMatchObject([
    { record: 'voucher', reason: expect.stringMatching(/\breference"? does not exist/), firstKeys: [] },
  ])
  expect(await platform`select id from gateway.product where id = ${other}`).toHaveLength(1)
  await platform`alter table purchased_voucher rename column number to reference`
  await platform`alter table purchased_voucher rename column id to key`
  await platform`update purchased_voucher set current_balance = 2`
  await platform`alter table purchased_voucher rename column key to id`
  await expectProjected(pool)
  expect(await platform`select distinct current_balance as balance from gateway.voucher`).toEqual([{ balance: 2 }])
})

test('a scan ends although the same rows keep changing', async () => {
  // This test has its own database, because a scan of the vouchers of the other tests would take long.
  const { pool, platform } = await createDatabase()
  await platform`insert into tenant (id, name) values (1, 'Old Mill')`
  const vouchers = await platform<{ id: number }[]>`
    insert into purchased_voucher (tenant_id, reference) select 1, 'V-' || n from generate_series(1, 20) n returning id`
  const ids = `{${vouchers.map(({ id }) => id)}}`
  await projected(pool)
  await platform`select gateway.request_scan('voucher', 'It is compared.')`
  for (let steps = 0; (await platform`select from gateway.scan`).length > 0; steps++) {
    expect(steps).toBeLessThan(1000)
    await platform`update public.purchased_voucher set product_title = ${`Title ${steps}`} where id = any(${ids}::text::bigint[])`
    await makeStep(pool, 8)
  }
  await expectProjected(pool)
})

test('a step shows every change that was committed before its stamp (I4, R34)', async () => {
  const { pool, platform } = await createDatabase()
  const [shop] = await platform<[{ id: number }]>`insert into tenant (name) values ('Shop') returning id`
  await platform`create table public.written (xid xid8, committed_at timestamptz)`
  await projected(pool)
  let writes = 0
  const write = async () => {
    while (writes < 1500) {
      const reference = `R${writes++}`
      const [row] = await platform<[{ xid: string }]>`
        insert into purchased_voucher (tenant_id, reference) values (${shop.id}, ${reference}) returning pg_current_xact_id()::text as xid`
      await platform`insert into written values (${row.xid}::text::xid8, clock_timestamp())`
    }
  }
  const step = async () => {
    while (writes < 1500) await makeNextStep(pool)
  }
  await Promise.all([write(), write(), step()])
  expect(
    await platform`
      select stamp, committed_at from gateway.step, written
      where not pg_visible_in_snapshot(xid, snapshot) and stamp > committed_at`,
  ).toEqual([])
})
