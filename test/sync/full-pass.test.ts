import { expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { makeStep } from '../../src/projection/step.ts'
import { buildServer } from '../../src/server.ts'
import { type Client, createClient } from '../support/app.ts'
import { untilLockWaits } from '../support/locks.ts'
import { collectLog } from '../support/log.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'

const query = `query ($tenant: ID!, $since: DateTime, $after: String, $first: Int) {
  tenant(id: $tenant) {
    removals(updatedSince: $since, after: $after, first: $first) {
      nodes { recordId removedAt }
      nextCursor serverTime epoch removalsCompleteSince
    }
  }
}`

/**
 * Returns a function that reads removals of a tenant. It returns the times of the removals, and the error of a refused
 * page.
 */
const createRemovalsReader =
  (client: Client, secret: string, tenant: number) =>
  async (variables: Record<string, unknown> = {}) => {
    const { body } = await client.graphql(secret, query, { tenant: String(tenant), ...variables })
    const { code, errors } = body.errors?.[0].extensions ?? {}
    const page = body.data?.tenant?.removals
    const removed: string[] = page?.nodes.map((node: { removedAt: string }) => node.removedAt)
    return { ...page, removed, code, error: errors?.updatedSince?.join(' ') }
  }

const fullPass = 'a full pass is needed'

async function createFixture() {
  const { database, build, client } = await startService()
  const tenant = await build.tenant()
  const { secret } = await build.token([tenant])
  const { pool, platform } = database
  // The connections are closed after each test, because the server has few connections for the tests of a file.
  onTestFinished(async () => {
    await client.app.close()
    await Promise.all([pool, platform, platform].map(sql => sql.end({ timeout: 1 })))
  })
  const ask = createRemovalsReader(client, secret, tenant)
  return {
    ...database,
    ...{ client, build, tenant, secret, ask },
    /** Starts another instance, and returns a function that reads the removals of the tenant from it. */
    start: async () => {
      const { log, lines } = collectLog()
      const config = readConfig({ LOG_LEVEL: 'warn', RATE_LIMIT_PER_MINUTE: '100000' })
      const app = await buildServer({ config, pool, log })
      onTestFinished(() => app.close())
      return { lines, ask: createRemovalsReader(createClient(app, pool), secret, tenant) }
    },
    /** Deletes vouchers, one after the other. @returns the time of each removal */
    remove: async (count: number): Promise<string[]> => {
      const { serverTime } = await ask()
      for (let made = 0; made < count; made++) {
        const id = await build.voucher(tenant)
        await projected(pool)
        await platform`delete from purchased_voucher where id = ${id}`
      }
      return (await ask({ since: serverTime })).removed
    },
    purge: (removedAt: string) =>
      platform`delete from gateway.removal where updated_at <= ${removedAt}::text::timestamptz`,
  }
}

test('only a client that resumes from before a purge is rejected', async () => {
  const { ask, remove, purge } = await createFixture()
  const before = await ask({ since: '2020-01-01T00:00:00Z' })
  expect(before).toMatchObject({ code: undefined, removalsCompleteSince: null })
  const [, second = '', third = ''] = await remove(3)
  await purge(second)

  for (const since of [before.serverTime, second])
    expect(await ask({ since })).toMatchObject({ code: 'BAD_USER_INPUT', error: expect.stringContaining(fullPass) })
  const all = await ask()
  expect(all.removed).toEqual([third])
  expect(all.removalsCompleteSince?.slice(0, 20)).toBe(second.slice(0, 20))
  expect(all.epoch).toBe(before.epoch)
  expect((await ask({ since: all.removalsCompleteSince })).removed).toEqual([third])
})

test('a cursor is rejected when its client resumed from before a purge', async () => {
  const { ask, remove, purge } = await createFixture()
  const { serverTime } = await ask()
  const [first = ''] = await remove(3)
  const page = await ask({ since: serverTime, first: 1 })
  expect((await ask({ after: page.nextCursor })).nodes).toHaveLength(2)
  await purge(first)
  expect((await ask({ after: page.nextCursor })).error).toContain(fullPass)
})

test('a page that waits for the commit of a purge takes the purge into account', async () => {
  const { ask, remove, platform } = await createFixture()
  const { serverTime } = await ask()
  await remove(1)
  let asked: ReturnType<typeof ask> | undefined
  await platform.begin(async purger => {
    await purger`lock table gateway.removal in access exclusive mode`
    asked = ask({ since: serverTime })
    await untilLockWaits(platform)
    await purger`delete from gateway.removal`
  })
  expect((await asked)?.error).toContain(fullPass)
})

test('of concurrent purges the one with the later instant counts, and a purge of no rows does not count', async () => {
  const { remove, platform, ask, purge } = await createFixture()
  const { epoch } = await ask()
  const [first = '', second = '', third = ''] = await remove(3)
  let purged: Promise<unknown> | undefined
  await platform.begin(async purger => {
    await purger`delete from gateway.removal where updated_at = ${second}::text::timestamptz`
    purged = purge(first).execute()
    await untilLockWaits(platform)
  })
  await purged
  expect((await ask({ since: second })).error).toContain(fullPass)
  const { removalsCompleteSince } = await ask()
  await purge('2020-01-01T00:00:00Z')
  expect(await ask({ since: third })).toMatchObject({ removalsCompleteSince, epoch, nodes: [{}] })
})

test.each([
  ['a truncation', 'truncate gateway.removal'],
  ['an applier', 'set local session_replication_role = replica; delete from gateway.removal'],
  [
    'a role without other rights',
    `create role test_purger; grant usage on schema gateway to test_purger;
     grant select, delete on gateway.removal to test_purger; set local role test_purger; delete from gateway.removal;
     reset role; drop owned by test_purger; drop role test_purger`,
  ],
])('a client that resumes from before a purge by %s is rejected', async (_, statements) => {
  const { ask, remove, platform } = await createFixture()
  const { serverTime } = await ask()
  await remove(2)
  await platform.begin(purger => purger.unsafe(statements).simple())
  expect((await ask({ since: serverTime })).error).toContain(fullPass)
  expect((await ask({ since: (await ask()).serverTime })).code).toBeUndefined()
})

test('a truncation whose snapshot is older than the removals counts as a purge of these removals', async () => {
  const { ask, remove, platform } = await createFixture()
  const { serverTime } = await ask()
  await platform.begin('isolation level repeatable read', async purger => {
    await purger`select from tenant`
    await remove(1)
    await purger`truncate gateway.removal`
  })
  expect((await ask({ since: serverTime })).error).toContain(fullPass)
})

test('an operator can require a full pass', async () => {
  const { ask, platform } = await createFixture()
  const before = await ask()
  const [required] = await platform<{ epoch: number }[]>`select gateway.require_full_pass() as epoch`
  expect(required?.epoch).toBeGreaterThan(before.epoch)
  expect((await ask({ since: before.serverTime })).error).toContain(fullPass)
  const after = await ask()
  expect(after.epoch).toBe(required?.epoch)
  expect((await ask({ since: after.serverTime })).code).toBeUndefined()
})

test('a page that does not yet report a required full pass has an earlier stamp than the requirement', async () => {
  const { client, secret, tenant, ask, pool, platform } = await createFixture()
  const askWithoutStep = createRemovalsReader(createClient(client.app), secret, tenant)
  let unaware: Awaited<ReturnType<typeof ask>> | undefined
  await platform.begin(async operator => {
    await operator`select gateway.require_full_pass()`
    await expect(makeStep(pool)).rejects.toMatchObject({ code: '55P03' })
    unaware = await askWithoutStep()
  })
  expect((await ask({ since: unaware?.serverTime })).error).toContain(fullPass)
})

/**
 * The recorded identifiers of the cluster, the timeline and the database differ, as after the restore of a dump of
 * another database.
 */
test.each([
  ['another cluster', '^[0-9]+'],
  ['another database of the cluster', '[0-9]+$'],
])('a database from %s requires one full pass for all instances, and compares all records', async (_, differs) => {
  const { client, build, tenant, ask, start, platform } = await createFixture()
  const id = await build.voucher(tenant)
  const { epoch, serverTime } = await ask()
  await client.app.close()
  // Simulates rows that were restored without a note, and a note with a transaction id of the other cluster.
  await platform.begin(async sql => {
    await sql`alter table purchased_voucher disable trigger user`
    await sql`update purchased_voucher set product_title = 'Restored' where id = ${id}`
    await sql`alter table purchased_voucher enable trigger user`
    await sql`insert into gateway.note (record, key, xid) values ('voucher', ${id}, '9000000000')`
  })
  // At first, the recorded identifier contains the oid of this database.
  expect(
    await platform`
      select server_identity like '%/' || oid as is_own from gateway.sync_state, pg_database where datname = current_database()`,
  ).toEqual([{ is_own: true }])
  await platform`update gateway.sync_state set server_identity = regexp_replace(server_identity, ${differs}, '1')`
  let starting: ReturnType<typeof start>[] = []
  await platform.begin(async sql => {
    await sql`select from gateway.sync_state for update`
    starting = [start(), start()]
    await untilLockWaits(platform, 2)
  })
  const instances = await Promise.all(starting)
  const logged = instances.flatMap(({ lines }) => lines()).filter(({ msg }) => msg.includes('failed over'))
  expect(logged).toHaveLength(1)
  for (const instance of instances) {
    expect((await instance.ask({ since: serverTime })).error).toContain(fullPass)
    expect((await instance.ask()).epoch).toBeGreaterThan(epoch)
  }
  await projected(platform)
  expect(await platform`select product_title as title from gateway.voucher`).toEqual([{ title: 'Restored' }])
  expect(await platform`select from gateway.note`).toEqual([])
})
