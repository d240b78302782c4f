import { beforeEach, describe, expect, test } from 'vitest'
import { placeTenants } from '../../src/domain/tenant/tree.ts'
import { createClient } from '../support/app.ts'
import { untilLockWaits } from '../support/locks.ts'
import { readPass } from './clients.ts'
import { createSyncedClients } from './in-sync.ts'
import { lists, transports } from './lists.ts'

const { app, secret, database, knownIds, sql, pass, expectInSync, connect, mark, pages } = await createSyncedClients()
beforeEach(pass)

async function insertTenant(parent: number | null): Promise<number> {
  const rows = await sql`insert into tenant (name, parent_id) values (${mark()}, ${parent}) returning id::int`
  return rows[0]?.id
}

describe('a change of a tenant and an insert below it do not wait for each other', () => {
  test.each(['the change first', 'the other first'])('%s', async order => {
    const parent = await insertTenant(knownIds.root)
    const options = { connection: { lock_timeout: 1000 } }
    const [first, second] = [connect(options), connect(options)]
    const make = (on: typeof sql) => on`insert into tenant (name, parent_id) values (${mark()}, ${parent})`
    const rename = (on: typeof sql) => on`update tenant set name = ${mark()} where id = ${parent}`
    const steps = [() => rename(first), () => make(second)]
    await first`begin`
    await second`begin`
    for (const step of order === 'the change first' ? steps : steps.toReversed()) await step()
    // Each repeats its step, as a transaction that goes on does: this must not deadlock.
    for (const step of steps) await step()
    await second`commit`
    await first`commit`
    await expectInSync('tenants')
  })
})

test('a tenant that is created during a move of its parent is listed, also when the new parent moves', async () => {
  const [outside, moved, former] = [await insertTenant(null), await insertTenant(null), await insertTenant(null)]
  await sql`update tenant set parent_id = ${former} where id = ${moved}`
  const [creator, mover, lifter] = [connect(), connect(), connect()]
  // The creator sees `moved` below `former` and waits for the mover, which has not committed.
  await mover`begin`
  await mover`update tenant set parent_id = ${outside} where id = ${moved}`
  const creating = creator.begin(async transaction => {
    await transaction`insert into tenant (name, parent_id) values (${mark()}, ${moved})`
    await pages()
  })
  await untilLockWaits(sql)
  await mover`commit`
  const lifting = lifter.begin(async transaction => {
    await transaction`update tenant set parent_id = ${knownIds.root} where id = ${outside}`
    await creating
    await pages()
  })
  await Promise.all([creating, lifting])
  await sql`update tenant set parent_id = ${knownIds.root} where id = ${former}`
  await expectInSync('tenants')
})

test('a tenant that is created below one while a tenant above moves into the scope of a token is listed', async () => {
  const outside = await insertTenant(null)
  const middle = await insertTenant(outside)
  const [creator, lifter] = [connect(), connect()]
  await creator`begin`
  await creator`insert into tenant (name, parent_id) values (${mark()}, ${middle})`
  const lifting = lifter`update tenant set parent_id = ${knownIds.root} where id = ${outside}`.execute()
  await untilLockWaits(sql)
  await pages()
  await creator`commit`
  await lifting
  await expectInSync('tenants')
})

test('an insert below a tenant that moved after the snapshot was taken is a serialization failure', async () => {
  const former = await insertTenant(knownIds.root)
  const latter = await insertTenant(knownIds.root)
  const moved = await insertTenant(former)
  const creator = connect()
  const creating = creator.begin('isolation level repeatable read', async transaction => {
    await transaction`select from tenant limit 1`
    await sql`update tenant set parent_id = ${latter} where id = ${moved}`
    await transaction`insert into tenant (name, parent_id) values (${mark()}, ${moved})`
  })
  await expect(creating).rejects.toMatchObject({ code: '40001' })
  await expectInSync('tenants')
})

describe('a tenant cannot lie below itself', () => {
  test('by an update', async () => {
    const above = await insertTenant(knownIds.root)
    const below = await insertTenant(await insertTenant(above))
    await expect(sql`update tenant set parent_id = ${below} where id = ${above}`).rejects.toThrow('below itself')
  })

  test('by one statement that inserts both', async () => {
    await expect(sql`insert into tenant (id, name, parent_id) values (901, 'a', 902), (902, 'b', 901)`).rejects.toThrow(
      'below itself',
    )
  })

  test('by two moves at once', async () => {
    const [one, other] = [await insertTenant(knownIds.root), await insertTenant(knownIds.root)]
    const [first, second] = [connect(), connect()]
    const move = (on: typeof sql, id: number, parent: number) =>
      on`update tenant set parent_id = ${parent} where id = ${id}`.execute()
    await first`begin`
    await second`begin`
    await first`select from tenant where id = ${one} for update`
    await second`select from tenant where id = ${other} for update`
    const outcomes = await Promise.allSettled([move(first, one, other), move(second, other, one)])
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    await Promise.all([first`commit`.catch(() => {}), second`commit`.catch(() => {})])
  })
})

test('a loop that appliers have created is in no scope of a token, and stops nothing', async () => {
  const [one, other] = [await insertTenant(knownIds.root), await insertTenant(knownIds.root)]
  await sql.begin(async transaction => {
    await transaction`set local session_replication_role = replica`
    await transaction`update tenant set parent_id = ${other} where id = ${one}`
    await transaction`update tenant set parent_id = ${one} where id = ${other}`
  })
  await sql`select gateway.process_stamp_queue(0)`
  const below = await insertTenant(one)
  const client = createClient(app)
  for (const id of [one, other, below]) {
    expect((await client.rest(secret, `/tenants/${id}/catalog/vouchers`)).status).toBe(403)
    expect((await client.resolve(secret, id, { voucher_reference: 'none' })).status).toBe(403)
  }
  expect(await placeTenants(database.pool, [below])).toHaveLength(1)
  await pass()
  await sql`update tenant set parent_id = ${knownIds.root} where id = ${one}`
  await expectInSync('tenants')
})

test('a tree of tenants is inserted in one statement without sequential scans for each', async () => {
  const creator = connect()
  // The session makes its plans for a small table.
  await creator`vacuum analyze tenant`
  for (let made = 0; made < 20; made++)
    await creator`insert into tenant (name, parent_id) values (${mark()}, ${knownIds.root})`
  /** Returns how many rows of tenant the transaction has read, sequential scans included. */
  const read = async () =>
    (await creator`select pg_stat_get_xact_tuples_returned('tenant'::regclass)::int as rows`)[0]?.rows
  const size = 1000
  await creator`begin`
  const before = await read()
  await creator`
    insert into tenant (id, name, parent_id)
    select 9000000 + n, 'many ' || n, case when n = 1 then ${knownIds.root}::bigint else 9000000 + n / 2 end
    from generate_series(1, ${size}::int) n`
  const after = await read()
  await creator`commit`
  // The check of the foreign key reads up to the tenant above: a quarter of all rows on average.
  expect(after - before).toBeLessThan((size * size) / 2)
  await expectInSync('tenants')
})

test.each(
  Object.entries(transports),
)('the lists of a tenant that moves into the scope of a token are answered as soon as the tenant is listed, over %s', async (_, ask) => {
  const [shop = 0] = knownIds.shops
  const [tenants, , vouchers] = lists
  const listTenants = ask(app, secret, tenants!, knownIds.root)
  const listVouchers = ask(app, secret, vouchers!, shop)
  await sql`update tenant set parent_id = ${knownIds.elsewhere} where id = ${shop}`
  // Until the service has read the new place, which it caches.
  await expect.poll(() => listVouchers(null, null).catch(error => error.code)).toBe('FORBIDDEN')
  const { serverTime } = await listTenants(null, null)
  await sql`update tenant set parent_id = ${knownIds.root} where id = ${shop}`
  const listedIds: number[] = []
  // An export has all tenants, and may come in parts.
  await readPass(listTenants, serverTime, ({ id }) => listedIds.push(id))
  expect(listedIds).toContain(shop)
  expect((await listVouchers(null, null)).records).toEqual(await vouchers!.truth(sql, shop, knownIds.root))
})
