import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { placeTenants } from '../../src/domain/tenant-tree.ts'
import { createClient } from '../support/app.ts'
import { createStep } from './in-sync.ts'
import { open } from './seed.ts'

const { app, secret, database, ground, sql, pass, inStep, end, mark, pages } = await createStep()
const { address } = database
afterAll(end)
beforeEach(pass)

/** Inserts a tenant. */
async function plant(parent: number | null): Promise<number> {
  const [row] = await sql<
    { id: string }[]
  >`insert into tenant (name, parent_id) values (${mark()}, ${parent}) returning id`
  return Number(row?.id)
}

/** Until a number of sessions of this database wait for a lock. */
async function untilWaiting(count: number): Promise<void> {
  for (const deadline = Date.now() + 10_000; Date.now() < deadline; ) {
    const [row] = await sql<{ waiting: number }[]>`
      select count(*)::int as waiting from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`
    if ((row?.waiting ?? 0) >= count) return
  }
  throw new Error('no session waits for a lock')
}

test('a tenant is made by a role that may only insert', async () => {
  const role = 'stress_tenants'
  await sql.unsafe(`
    do $$ begin create role ${role} login; exception when duplicate_object then null; end $$;
    grant usage on schema public to ${role};
    grant insert on tenant to ${role};`)
  const maker = open({ ...address, user: role })
  await expect(maker`select from tenant`).rejects.toThrow('permission denied')
  await maker`insert into tenant (name, parent_id) values (${mark()}, ${ground.root})`
  await maker.end()
  await inStep('tenants')
})

describe('a tenant is changed and another is made below it, and neither waits', () => {
  test.each(['the change first', 'the other first'])('%s', async order => {
    const parent = await plant(ground.root)
    const first = open(address, { connection: { lock_timeout: 1000 } })
    const second = open(address, { connection: { lock_timeout: 1000 } })
    const make = (on: typeof sql) => on`insert into tenant (name, parent_id) values (${mark()}, ${parent})`
    const rename = (on: typeof sql) => on`update tenant set name = ${mark()} where id = ${parent}`
    const steps = [() => rename(first), () => make(second)]
    await first`begin`
    await second`begin`
    for (const step of order === 'the change first' ? steps : steps.toReversed()) await step()
    // As transactions that go on would: this was the deadlock.
    for (const step of steps) await step()
    await second`commit`
    await first`commit`
    await Promise.all([first.end(), second.end()])
    await inStep('tenants')
  })
})

test('one transaction moves a tenant, one makes a tenant below it, and one moves the tenant above', async () => {
  const [outside, moved, former] = [await plant(null), await plant(null), await plant(null)]
  await sql`update tenant set parent_id = ${former} where id = ${moved}`
  const [maker, mover, lifter] = [open(address), open(address), open(address)]
  // The maker sees `moved` below `former` and waits for the one who moves it; that one has not committed.
  await mover`begin`
  await mover`update tenant set parent_id = ${outside} where id = ${moved}`
  const making = maker.begin(async transaction => {
    await transaction`insert into tenant (name, parent_id) values (${mark()}, ${moved})`
    await pages()
  })
  await untilWaiting(1)
  await mover`commit`
  const lifting = lifter.begin(async transaction => {
    await transaction`update tenant set parent_id = ${ground.root} where id = ${outside}`
    await making
    await pages()
  })
  await Promise.all([making, lifting])
  await Promise.all([maker.end(), mover.end(), lifter.end()])
  await sql`update tenant set parent_id = ${ground.root} where id = ${former}`
  await inStep('tenants')
})

test('a tenant that is made below one while that one comes into scope, in one transaction with others above', async () => {
  const outside = await plant(null)
  const middle = await plant(outside)
  const [maker, lifter] = [open(address), open(address)]
  await maker`begin`
  await maker`insert into tenant (name, parent_id) values (${mark()}, ${middle})`
  const lifting = lifter`update tenant set parent_id = ${ground.root} where id = ${outside}`.execute()
  await untilWaiting(1)
  await pages()
  await maker`commit`
  await lifting
  await Promise.all([maker.end(), lifter.end()])
  await inStep('tenants')
})

test('a tenant is made below one that was moved since the snapshot was taken: that is a conflict', async () => {
  const former = await plant(ground.root)
  const latter = await plant(ground.root)
  const moved = await plant(former)
  const maker = open(address)
  const making = maker.begin('isolation level repeatable read', async transaction => {
    await transaction`select from tenant limit 1`
    await sql`update tenant set parent_id = ${latter} where id = ${moved}`
    await transaction`insert into tenant (name, parent_id) values (${mark()}, ${moved})`
  })
  await expect(making).rejects.toMatchObject({ code: '40001' })
  await maker.end()
  await inStep('tenants')
})

describe('a tenant cannot lie below itself', () => {
  test('by an update', async () => {
    const above = await plant(ground.root)
    const below = await plant(await plant(above))
    await expect(sql`update tenant set parent_id = ${below} where id = ${above}`).rejects.toThrow('below itself')
  })

  test('by one statement that inserts both', async () => {
    await expect(sql`insert into tenant (id, name, parent_id) values (901, 'a', 902), (902, 'b', 901)`).rejects.toThrow(
      'below itself',
    )
  })

  test('by two moves at once', async () => {
    const [one, other] = [await plant(ground.root), await plant(ground.root)]
    const [first, second] = [open(address), open(address)]
    const move = (on: typeof sql, id: number, parent: number) =>
      on`update tenant set parent_id = ${parent} where id = ${id}`.execute()
    await first`begin`
    await second`begin`
    await first`select from tenant where id = ${one} for update`
    await second`select from tenant where id = ${other} for update`
    const outcomes = await Promise.allSettled([move(first, one, other), move(second, other, one)])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await Promise.all([first`commit`.catch(() => {}), second`commit`.catch(() => {})])
    await Promise.all([first.end(), second.end()])
  })
})

test('a loop that appliers have made is no tree of any token, and holds up nothing', async () => {
  const [one, other] = [await plant(ground.root), await plant(ground.root)]
  await sql.begin(async transaction => {
    await transaction`set local session_replication_role = replica`
    await transaction`update tenant set parent_id = ${other} where id = ${one}`
    await transaction`update tenant set parent_id = ${one} where id = ${other}`
  })
  await sql`select gateway.process_stamp_queue(0)`
  const below = await plant(one)
  const client = createClient(app)
  for (const id of [one, other, below]) {
    expect((await client.rest(secret, `/tenants/${id}/catalog/vouchers`)).status).toBe(403)
    expect((await client.resolve(secret, id, { voucher_reference: 'none' })).status).toBe(403)
  }
  expect(await placeTenants(database.pool, [below])).toHaveLength(1)
  await pass()
  await sql`update tenant set parent_id = ${ground.root} where id = ${one}`
  await inStep('tenants')
})

test('a tree of tenants is made in one statement, each without reading the others', async () => {
  const maker = open(address)
  // The session plans for a small table.
  await maker`vacuum analyze tenant`
  for (let made = 0; made < 20; made++)
    await maker`insert into tenant (name, parent_id) values (${mark()}, ${ground.root})`
  /** Rows of tenant that the transaction has read by sequential scans, among others. */
  const read = () => maker<{ rows: number }[]>`select pg_stat_get_xact_tuples_returned('tenant'::regclass)::int as rows`
  const size = 1000
  await maker`begin`
  const [before] = await read()
  await maker`
    insert into tenant (id, name, parent_id)
    select 9000000 + n, 'many ' || n, case when n = 1 then ${ground.root}::bigint else 9000000 + n / 2 end
    from generate_series(1, ${size}::int) n`
  const [after] = await read()
  await maker`commit`
  await maker.end()
  // The foreign key's own check reads up to the tenant above: half of those before it, at the mean of all a quarter.
  expect((after?.rows ?? 0) - (before?.rows ?? 0)).toBeLessThan((size * size) / 2)
  await inStep('tenants')
})
