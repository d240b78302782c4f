/** Records are what the mapping gives for the sources, whatever writers do: capture notes, and steps write what differs. */
import { expect, test } from 'vitest'
import type { Sql } from '../../src/db/sql.ts'
import { deletePassedNotes, makeStep } from '../../src/projection/step.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { makeNextStep, projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'
import { readSelect, writeUncaptured } from '../support/uncaptured.ts'

const database = await createDatabase()
const { pool, platform } = database
const build = createBuilders(database)

async function project(most = 5000): Promise<void> {
  while (await makeStep(pool, most)) {}
}

/** Returns the records that have a later stamp than before, as `voucher 7`, after the steps that a change needs. */
async function changedBy(change: () => Promise<unknown>): Promise<string[]> {
  await project()
  const [{ stamp }] = await platform<
    [{ stamp: string }]
  >`select stamp::text from gateway.step order by stamp desc limit 1`
  await change()
  await project()
  const rows = await platform<{ record: string }[]>`
    select kind || ' ' || id as record from (
      select 'tenant' as kind, id, updated_at from gateway.tenant
      union all select 'category', id, updated_at from gateway.category
      union all select 'variant', id, updated_at from gateway.variant
      union all select 'product', id, updated_at from gateway.product
      union all select 'voucher', id, updated_at from gateway.voucher
      union all select 'customer', id, updated_at from gateway.customer
      union all
      select concat_ws(' ', reason, record, id, 'of'), tenant_id, updated_at from gateway.removal
    ) changed
    where updated_at > ${stamp}::text::timestamptz order by updated_at`
  expect(await findRecordProblems(pool)).toEqual([])
  return rows.map(({ record }) => record)
}

/** Columns that a row of the catalogue must have. */
const named = { slug: 'slug', title: 'Title' }

const tenant = await build.tenant({ name: 'Old Mill' })
const product = await build.product(tenant)
await build.category(tenant, [product])
const variant = await build.variant(product)
await build.voucher(tenant, { reference: 'GIFT-1' })
const customer = await build.customer(tenant)

test('the first steps write all records, each with its own stamp (I4)', async () => {
  expect(await changedBy(async () => {})).toEqual([])
  const [found] = await platform`
    select count(*) as records, count(distinct updated_at) as stamps from (
      select updated_at from gateway.tenant union all select updated_at from gateway.category
      union all select updated_at from gateway.variant union all select updated_at from gateway.product
      union all select updated_at from gateway.voucher union all select updated_at from gateway.customer
    ) record`
  expect(found).toEqual({ records: 6, stamps: 6 })
})

test('a change of what v1 does not show moves no record; a variant and a category have stamps of their own', async () => {
  expect(await changedBy(() => platform`update purchased_voucher set customer_name = 'Ann'`)).toEqual([])
  expect(await changedBy(() => platform`update variant set title = 'Spa'`)).toEqual([
    `variant ${variant}`,
    `product ${product}`,
  ])
  const foreign = await build.category(await build.tenant(), [product])
  expect(await changedBy(() => platform`update category set title = 'Spa' where id = ${foreign}`)).toEqual([
    `category ${foreign}`,
  ])
})

test('a record leaves a list: deleted, moved, without consent; its personal data leave too', async () => {
  const other = await build.tenant()
  const id = await build.voucher(tenant)
  expect(await changedBy(() => platform`update purchased_voucher set tenant_id = ${other} where id = ${id}`)).toEqual([
    `voucher ${id}`,
    `moved voucher ${id} of ${tenant}`,
  ])
  expect(await changedBy(() => platform`delete from purchased_voucher where id = ${id}`)).toEqual([
    `deleted voucher ${id} of ${other}`,
  ])
  expect(await changedBy(() => platform`update customer set marketing_opted = false`)).toEqual([
    `customer ${customer}`,
    `consent_withdrawn customer ${customer} of ${tenant}`,
  ])
  const [kept] = await platform`select email, full_name, marketing_opted as opted from gateway.customer`
  expect(kept).toEqual({ email: null, full_name: null, opted: false })
  expect(await changedBy(() => platform`delete from customer`)).toEqual([])
})

test('a tenant that moves takes all below it along', async () => {
  const [north, south] = [await build.tenant(), await build.tenant()]
  const region = await build.tenant({ parent_id: north })
  const shop = await build.tenant({ parent_id: region })
  expect(await changedBy(() => platform`update tenant set parent_id = ${south} where id = ${region}`)).toEqual([
    `tenant ${region}`,
    `tenant ${shop}`,
    `moved tenant ${region} of ${north}`,
    `moved tenant ${shop} of ${north}`,
  ])
  expect(await changedBy(() => platform`delete from tenant where id = ${shop}`)).toEqual([
    `deleted tenant ${shop} of ${south}`,
    `deleted tenant ${shop} of ${region}`,
  ])
})

test('a product moves with its variants and categories, and a write that changes nothing moves no record', async () => {
  const [one, two] = [await build.product(tenant), await build.product(tenant)]
  const part = await build.variant(one)
  const category = await build.category(tenant, [one, two])
  const [first, second] = [`product ${one}`, `product ${two}`]
  const statements: [statement: string, moved: string[]][] = [
    [`update product set title = 'New' where id = ${one}`, [first]],
    ['update product set title = title', []],
    [`insert into variant (product_id, slug, title, currency) values (${two}, 'v', 'V', 'GBP')`, [second]],
    [`update variant set price = 5 where id = ${part}`, [first]],
    [`update variant set price = 5 where product_id in (${one}, ${two})`, [second]],
    ['update variant set title = title', []],
    [`update variant set product_id = ${two} where id = ${part}`, [first, second]],
    [`delete from variant where id = ${part}`, [second]],
    [`delete from variant where id = ${part}`, []],
    [`update category set title = 'New' where id = ${category}`, [first, second]],
    [`update category set title = 'New' where id = ${category}`, []],
    [`delete from product_category where product_id = ${one}`, [first]],
    [`insert into product_category values (${one}, ${category})`, [first]],
    ['update product_category set category_id = category_id', []],
    [`delete from category where id = ${category}`, [first, second]],
    [`update tenant set subdomain = 'mill' where id = ${tenant}`, [`tenant ${tenant}`]],
    ['update tenant set name = name', []],
    ['update purchased_voucher set reference = reference', []],
    ['update customer set email = email', []],
  ]
  for (const [statement, moved] of statements) {
    const records = await changedBy(() => platform.unsafe(statement))
    expect(records.filter(record => !/^(variant|category) /.test(record)).sort(), statement).toEqual(moved)
  }
})

test('transactions that overlap steps are seen once they are committed (I2)', async () => {
  const ids: number[] = []
  const add = async (sql: Sql, reference: string) => {
    const [row] = await sql<[{ id: number }]>`
      insert into purchased_voucher (tenant_id, reference) values (${tenant}, ${reference}) returning id`
    ids.push(row.id)
  }
  const records = async () =>
    (
      await platform<{ reference: string }[]>`
      select reference from gateway.voucher where id = any(${`{${ids}}`}::text::bigint[]) order by id`
    ).map(row => row.reference)
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

test('rows that appliers write, and truncations, are captured', async () => {
  const applied = await changedBy(async () => {
    await platform
      .unsafe(`set local session_replication_role = replica;
      insert into purchased_voucher (id, tenant_id, reference) values (9001, ${tenant}, 'APPLIED')`)
      .simple()
  })
  expect(applied).toEqual(['voucher 9001'])
  const moved = await changedBy(async () => {
    await platform
      .unsafe(`set local session_replication_role = replica;
      update purchased_voucher set id = 9002 where id = 9001`)
      .simple()
  })
  expect(moved).toEqual(['voucher 9002', `deleted voucher 9001 of ${tenant}`])
  const left = await changedBy(() => platform`truncate purchased_voucher`)
  expect(left.length).toBeGreaterThan(3)
  expect(left.every(record => record.startsWith('deleted voucher '))).toBe(true)
})

test.each([1, 5000])('vouchers exchange their references, and a step takes %i keys', async most => {
  const ids = [await build.voucher(tenant), await build.voucher(tenant), await build.voucher(tenant)]
  const exchange = (references: string[]) =>
    platform
      .unsafe(
        ids
          .map((id, n) => `update purchased_voucher set reference = '${references[n]}-${most}' where id = ${id}`)
          .join(';'),
      )
      .simple()
  await exchange(['A', 'B', 'C'])
  await project()
  await exchange(['X', 'Y', 'Z'])
  await exchange(['B', 'C', 'A'])
  await project(most)
  expect(await findRecordProblems(pool)).toEqual([])
})

test('a customer who moves and withdraws the consent, with an instant that v1 cannot show, leaves the list', async () => {
  const moved = await build.customer(tenant)
  const other = await build.tenant()
  await project()
  expect(
    await changedBy(
      () => platform`
        update customer set marketing_opted = false, tenant_id = ${other}, consented_at = '-infinity' where id = ${moved}`,
    ),
  ).toEqual([`customer ${moved}`, `consent_withdrawn customer ${moved} of ${tenant}`])
})

test('a row that breaks a rule is rejected with its reason, keeps its former record, and comes back (I9)', async () => {
  const id = await build.voucher(tenant, { reference: 'WELL' })
  await project()
  await platform`update purchased_voucher set date_valid_end = 'infinity', reference = 'ILL' where id = ${id}`
  await project()
  expect(await findRecordProblems(pool)).toEqual([
    {
      record: 'voucher',
      reason: 'date_valid_end is not in the years 1 to 9999: infinity',
      keys: 1,
      firstKeys: [String(id)],
      differences: [],
    },
  ])
  expect(await platform`select reference from gateway.voucher where id = ${id}`).toEqual([{ reference: 'WELL' }])
  expect(await changedBy(() => platform`update purchased_voucher set date_valid_end = null where id = ${id}`)).toEqual([
    `voucher ${id}`,
  ])
})

test('a rejected row is in no list that it no longer names, nor without consent, and is rejected since the first time', async () => {
  const [other, shown] = [await build.tenant(), await build.product(tenant)]
  await platform`alter table purchased_voucher alter column reference drop not null, alter column tenant_id drop not null`
  const [ownerless, nameless] = [await build.voucher(tenant), await build.voucher(tenant)]
  const ids = [
    await build.variant(product),
    await build.product(tenant),
    await build.voucher(tenant),
    await build.customer(tenant),
    await build.customer(tenant),
  ] as const
  await project()
  const [size, moved, voucher, guest, member] = ids
  await platform
    .unsafe(`
      update variant set product_id = ${shown}, currency = 'gbp' where id = ${size};
      update product set tenant_id = ${other}, validity_months = -1 where id = ${moved};
      update purchased_voucher set tenant_id = ${other}, qr_token = ' ' where id = ${voucher};
      update purchased_voucher set tenant_id = null where id = ${ownerless};
      update purchased_voucher set tenant_id = ${other}, reference = null where id = ${nameless};
      update customer set tenant_id = ${other}, email = 'ann' where id = ${guest};
      update customer set marketing_opted = false, created_at = 'infinity' where id = ${member}`)
    .simple()
  await project()
  const left = await platform<{ removal: string }[]>`
    select concat_ws(' ', reason, record, id) as removal from gateway.removal
    where (record, id) in (('product', ${moved}), ('voucher', ${voucher}), ('voucher', ${ownerless}), ('voucher', ${nameless}), ('customer', ${guest}), ('customer', ${member}))
    order by record, id`
  expect(left.map(({ removal }) => removal)).toEqual([
    `moved product ${moved}`,
    ...[`deleted voucher ${ownerless}`, `moved voucher ${nameless}`, `moved voucher ${voucher}`].sort(
      (a, b) => Number(a.split(' ')[2]) - Number(b.split(' ')[2]),
    ),
    `moved customer ${guest}`,
    `consent_withdrawn customer ${member}`,
  ])
  const records = await platform`
    select from gateway.variant where id = ${size} union all select from gateway.product where id = ${moved}
    union all select from gateway.voucher where id in (${voucher}, ${ownerless}, ${nameless}) union all select from gateway.customer where id in (${guest}, ${member})`
  expect(records).toHaveLength(0)

  const rejection = () => platform`
    select reason, since < now() - interval '1 hour' as is_old from gateway.rejected where record = 'voucher' and key = ${voucher}::text`
  await platform`update gateway.rejected set since = since - interval '2 hours'`
  await platform`update purchased_voucher set qr_token = 'https://a.example' where id = ${voucher}`
  await project()
  expect(await rejection()).toEqual([{ reason: 'qr_token is a URL', is_old: true }])
  await platform
    .unsafe(`
      update variant set currency = 'GBP' where id = ${size};
      update product set validity_months = 1 where id = ${moved};
      update purchased_voucher set qr_token = null where id = ${voucher};
      delete from purchased_voucher where id in (${ownerless}, ${nameless});
      update customer set email = null where id = ${guest};
      update customer set created_at = now() where id = ${member}`)
    .simple()
  await project()
  expect(await findRecordProblems(pool)).toEqual([])
})

test.each<[table: string, row: Record<string, string | number>, reason: string]>([
  ['tenant', { name: '' }, 'name is empty'],
  ['tenant', { name: 'Spa', subdomain: '' }, 'subdomain is empty'],
  ['variant', { ...named, currency: 'GBP', price: 1.001 }, 'price is not an amount of the currency GBP: 1.001'],
  ['variant', { ...named, currency: 'gbp' }, 'currency is not three capital letters: gbp'],
  ['product', { ...named, currency: 'GBP', sale_price: 'NaN' }, 'sale_price is not an amount of the currency GBP: NaN'],
  ['product', { ...named, currency: 'GBP', validity_months: -1 }, 'validity_months is negative'],
  ['product', { ...named, currency: 'GBP', image_urls: '{a,null}' }, 'image_urls contains null'],
  ['product', { ...named, currency: 'GBP', image_urls: '{{a},{b}}' }, 'image_urls has more than one dimension'],
  ['purchased_voucher', { reference: '\u200b' }, 'reference is empty'],
  ['purchased_voucher', { reference: 'BAD', qr_token: '\t' }, 'qr_token is empty'],
  ['purchased_voucher', { reference: 'BAD', qr_token: ' HTTPS://a.example' }, 'qr_token is a URL'],
  ['purchased_voucher', { reference: 'BAD', product_id: 0 }, 'an id is not between 1 and 2^53 - 1'],
  [
    'purchased_voucher',
    { reference: 'BAD', current_balance: 1 },
    'current_balance is not an amount of the currency (none): 1',
  ],
  [
    'purchased_voucher',
    { reference: 'BAD', date_valid_start: '2026-01-02', date_valid_end: '2026-01-01' },
    'date_valid_end is before date_valid_start',
  ],
  ['customer', { email: 'ann' }, 'email is no e-mail address'],
  ['customer', { countryiso2: 'GBR' }, 'countryiso2 is not two letters'],
  ['customer', { consented_at: 'infinity' }, 'consented_at is not in the years 1 to 9999: infinity'],
  ['customer', { id: -1 }, 'the key is not between 1 and 2^53 - 1'],
  ['customer', { id: 2 ** 53 }, 'the key is not between 1 and 2^53 - 1'],
  ['customer', { id: '1000000000000000000' }, 'the key is not between 1 and 2^53 - 1'],
])('a row of %s that v1 cannot show is rejected: %j', async (table, row, reason) => {
  const owner = table === 'variant' ? { product_id: product } : table === 'tenant' ? {} : { tenant_id: tenant }
  const consent = table === 'customer' ? { marketing_opted: true } : {}
  const [{ id }] = await platform<[{ id: number }]>`
    insert into ${platform(table)} ${platform({ ...owner, ...consent, ...row })} returning id`
  await project()
  expect(await findRecordProblems(pool)).toMatchObject([{ reason, keys: 1, firstKeys: [String(id)] }])
  await platform`delete from ${platform(table)} where id = ${id}`
  await project()
  expect(await findRecordProblems(pool)).toEqual([])
})

test('each column that a rule compares has words for authors of mappings', async () => {
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

test('vouchers with one reference and one QR token are records, each with its own changes', async () => {
  const one = await build.voucher(tenant, { reference: 'Twin', qr_token: 'twin' })
  const others = ['TWIN', ' Twin '].map(reference => build.voucher(tenant, { reference, qr_token: `${reference}twin` }))
  const [folded, same] = await Promise.all(others)
  expect(await changedBy(() => platform`update purchased_voucher set void = true where id = ${one}`)).toEqual([
    `voucher ${one}`,
  ])
  expect(await changedBy(() => platform`delete from purchased_voucher where id in (${one}, ${same!})`)).toEqual([
    `deleted voucher ${one} of ${tenant}`,
    `deleted voucher ${same} of ${tenant}`,
  ])
  expect(await platform`select id from gateway.voucher where reference = 'TWIN'`).toEqual([{ id: folded }])
})

test('no change is lost when the operator deletes notes and requests scans (I8)', async () => {
  const id = await build.voucher(tenant)
  expect(
    await changedBy(async () => {
      await platform`update purchased_voucher set reference = 'UNNOTED' where id = ${id}`
      await platform.unsafe(`
        truncate gateway.note;
        select gateway.request_scan(record, 'Notes were deleted.') from gateway.mapping`)
    }),
  ).toEqual([`voucher ${id}`])
})

test('a small transaction overtakes a large one', async () => {
  await project()
  await platform`
    insert into purchased_voucher (tenant_id, reference) select ${tenant}, 'LOAD-' || place from generate_series(1, 900) place`
  const small = await build.voucher(tenant)
  expect(await makeStep(pool, 300)).toBe(true)
  await platform`update gateway.step set behind_since = behind_since - interval '1 minute'`
  expect(await platform`select id from gateway.voucher where id = ${small}`).toHaveLength(1)
  expect(await platform`select id from gateway.voucher where reference like 'LOAD-%'`).toHaveLength(299)
  // New ones take three quarters of a step, before the keys that wait.
  await Promise.all(
    Array.from(
      { length: 400 },
      () => platform`
    insert into purchased_voucher (tenant_id, reference) values (${tenant}, 'SMALL-' || gen_random_uuid())`,
    ),
  )
  await makeStep(pool, 300)
  expect((await readStepState(pool)).secondsBehind).toBeGreaterThanOrEqual(60)
  const [found] = await platform`
    select count(*) filter (where reference like 'SMALL-%') as small, count(*) filter (where reference like 'LOAD-%') as large
    from gateway.voucher`
  expect(found).toEqual({ small: 225, large: 374 })
  // While nothing new comes, a step takes five times as many.
  await makeStep(pool, 300)
  expect(await platform`select id from gateway.voucher where reference like 'LOAD-%'`).toHaveLength(900)
  expect((await readStepState(pool)).secondsBehind).toBe(0)
})

test('records of a large transaction come after the records that they refer to (I5)', async () => {
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

test('keys that were noted many times displace no others', async () => {
  const [often, once] = [await build.voucher(tenant), await build.voucher(tenant)]
  await project()
  for (const code of ['A', 'B', 'C'])
    await platform`update purchased_voucher set qr_token = ${code} where id = ${often}`
  await platform`update purchased_voucher set qr_token = 'D' where id = ${once}`
  await project(2)
  expect(await findRecordProblems(pool)).toEqual([])
  expect(await platform`select qr_token as code from gateway.voucher where id in ${platform([often, once])}`).toEqual([
    { code: 'C' },
    { code: 'D' },
  ])
})

test('rejected keys wait once, however often all rows are compared', async () => {
  await platform`update purchased_voucher set date_valid_end = 'infinity' where reference like 'LOAD-%'`
  await project()
  for (let turn = 0; turn < 3; turn++) {
    await platform`delete from gateway.scan`
    await platform`select gateway.request_scan('voucher', 'The mapping is new.')`
    await makeStep(pool, 100)
  }
  const [waiting] = await platform`
    select count(*) > 500 as are_many, count(*) = count(distinct key) as are_single from gateway.waiting_key`
  expect(waiting).toEqual({ are_many: true, are_single: true })
  await platform`update purchased_voucher set date_valid_end = null where reference like 'LOAD-%'`
  await project()
  expect(await platform`select from gateway.waiting_key`).toHaveLength(0)
  expect(await findRecordProblems(pool)).toEqual([])
})

test('a step that has read a source holds no lock of it, nor of its partitions', async () => {
  const text = await readSelect(platform, 'voucher')
  await platform
    .unsafe(`create table flag (code integer primary key) partition by range (code);
      create table flag_part partition of flag default;
      insert into flag values (1)`)
    .simple()
  const rules = {
    flag: 'select id::text from public.purchased_voucher cross join changed where changed.code is not null',
  }
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
  await project()
  expect(await findRecordProblems(pool)).toEqual([])
})

test('a table that is locked holds up its own records only (I3, I9)', async () => {
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

test('two instances: one makes a step at a time (I1)', async () => {
  await platform.begin(async sql => {
    await sql`lock table gateway.step_lock in exclusive mode`
    await expect(makeStep(pool, 10)).rejects.toMatchObject({ code: '55P03' })
  })
  expect(await makeStep(pool, 10)).toBeNull()
})

test('no change of a table makes a write fail; a mapping that does not fit is named, and comes back (I9)', async () => {
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
  await project()
  expect(await findRecordProblems(pool)).toEqual([])
  expect(await platform`select distinct current_balance as balance from gateway.voucher`).toEqual([{ balance: 2 }])
})

test('changes without end do not hold up a scan', async () => {
  // A scan reads all vouchers, a few with each step: the vouchers of the tests above would make it long.
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
  await projected(pool)
  expect(await findRecordProblems(pool)).toEqual([])
})

test('no step has a later stamp than what it shows: it shows all that was committed before (I4, R34)', async () => {
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
