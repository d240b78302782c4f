import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { listTriggers, ownTriggers } from '../../src/db/own-triggers.ts'
import { products } from '../../src/domain/record/product.ts'
import { signups } from '../../src/domain/record/signup.ts'
import { vouchers } from '../../src/domain/record/voucher.ts'
import { createApp } from '../support/app.ts'
import { createDatabase } from '../support/database.ts'
import { collectLog } from '../support/log.ts'
import { until } from '../support/until.ts'

const database = await createDatabase()
const { platform } = database
const healthy = { status: 'ok', checks: { database: 'ok', migrations: 'ok', triggers: 'ok' } }
const failing = { status: 'failing', checks: { database: 'ok', migrations: 'ok', triggers: 'failing' } }
const broken = 'clients may miss changes: repair the triggers, then run: select gateway.require_full_pass();'
const repaired = 'the triggers of the database are correct again'

afterEach(() => {
  vi.useRealTimers()
})

async function createReadiness() {
  const { log, lines } = collectLog()
  const client = await createApp(database, { LOG_LEVEL: 'info' }, log)
  onTestFinished(() => client.app.close())
  return {
    ready: async () => {
      for (;;) {
        const { status, body } = await client.ask({ url: '/readyz' })
        // The checks took longer than they may, as on a machine that is busy with other work.
        if (!body.reasons?.some((reason: string) => reason.includes('within a second'))) return { status, body }
      }
    },
    logged: () => lines().flatMap(line => (line.msg === broken || line.msg === repaired ? [line] : [])),
  }
}

const touch = (events: string, name = 'zz_touch', table = 'purchased_voucher') => `
  create function touch() returns trigger language plpgsql as $x$ begin new.updated_at := now(); return new; end $x$;
  create trigger ${name} before ${events} on ${table} for each row execute function touch()`
const untouch = 'drop function touch() cascade'
const fires = (name: string, table: string, after: string) =>
  `Trigger ${name} of table ${table} fires after ${after}, so it can overwrite updated_at, and what it changes is not ` +
  `stamped. Rename it so that it sorts before ${after}: alter trigger ${name} on ${table} rename to …;`
const recreate = 'Create it again with the statement of the newest migration in sql/ that names it.'
const createAgain = `
  create trigger record_truncated before truncate on tenant
    for each statement execute function gateway.record_truncated('tenant');
  alter table tenant enable always trigger record_truncated`

const ordinary = 'fires for ordinary sessions and not for replication appliers'
const appliers = 'fires for replication appliers and not for ordinary sessions'
const ofRemovals = Object.keys(ownTriggers['gateway.removal'] ?? {})

/** Triggers that fire for other sessions than they should. */
const misfiring = (
  [
    ['a disabled trigger', 'public.product', ['z_stamp'], 'is disabled', 'disable', 'enable always'],
    ['all triggers of a table disabled', 'gateway.removal', ofRemovals, 'is disabled', 'disable', 'enable always'],
    ['one for appliers', 'public.customer', ['record_consent_withdrawn'], ordinary, 'enable', 'enable always'],
    ['one for ordinary sessions', 'public.product', ['check_links_of_moved'], appliers, 'enable replica', 'enable'],
  ] as const
).map(([what, table, names, is, wrong, right]) => {
  const set = (name: string, firing: string) => `alter table ${table} ${firing} trigger ${name};`
  return {
    what,
    apply: names.map(name => set(name, wrong)).join(' '),
    undo: names.map(name => set(name, right)).join(' '),
    reasons: names.map(name => `Trigger ${name} of table ${table} ${is}. Run: ${set(name, right)}`),
  }
})

const problems: { what: string; apply: string; undo: string; reasons: string[] }[] = [
  ...misfiring,
  {
    what: 'a dropped trigger',
    apply: 'drop trigger record_truncated on tenant',
    undo: createAgain,
    reasons: [`Trigger record_truncated of table public.tenant is missing. ${recreate}`],
  },
  {
    what: 'a trigger of the platform under one of our names',
    apply: `create function touch() returns trigger language plpgsql as $x$ begin return null; end $x$;
            drop trigger record_truncated on tenant;
            create trigger record_truncated before truncate on tenant for each statement execute function touch();
            alter table tenant enable always trigger record_truncated`,
    undo: `${untouch}; ${createAgain}`,
    reasons: [
      `Trigger record_truncated of table public.tenant calls touch(), which is not of schema gateway. ${recreate}`,
    ],
  },
  {
    what: 'a trigger of the platform after ours',
    apply: touch('update'),
    undo: untouch,
    reasons: [fires('zz_touch', 'public.purchased_voucher', 'z_stamp')],
  },
  {
    what: 'a trigger of the platform after ours, of both events, whose name needs quotes',
    apply: touch('insert or update', '"z_stamp_ünd"', 'customer'),
    undo: untouch,
    reasons: [fires('"z_stamp_ünd"', 'public.customer', 'z_stamp')],
  },
  {
    what: 'a table that inherits from one of ours',
    apply: 'create table voucher_archive () inherits (purchased_voucher)',
    undo: 'drop table voucher_archive',
    reasons: [
      'Table voucher_archive inherits from purchased_voucher: rows of voucher_archive are listed, but the triggers of ' +
        'purchased_voucher are not set off by statements that name voucher_archive. ' +
        'Run: alter table voucher_archive no inherit purchased_voucher;',
    ],
  },
  {
    what: 'one of our tables as a partition',
    apply: `create table every_link (like product_category) partition by range (product_id);
            alter table every_link attach partition product_category for values from (1) to (9007199254740991)`,
    undo: 'alter table every_link detach partition product_category; drop table every_link',
    reasons: [
      'Table product_category is a partition of every_link: a statement that names every_link sets off no statement ' +
        'triggers of product_category. Run: alter table every_link detach partition product_category;',
    ],
  },
]

test('the list of our triggers equals what sql/ creates', async () => {
  const rows = await platform<{ table: string; name: string; enabled: string }[]>`
    select nspname || '.' || relname as table, tgname as name, tgenabled as enabled
    from pg_trigger join pg_class on pg_class.oid = tgrelid join pg_namespace on pg_namespace.oid = relnamespace
    where not tgisinternal`
  const made = rows.map(({ table, name, enabled }) => `${table} ${name} ${enabled}`)
  const letters = { always: 'A', origin: 'O', replica: 'R' }
  const lists = await platform<{ table: string }[]>`select 'public.' || name as table from gateway.list`
  const ofLists = Object.fromEntries(lists.map(({ table }) => [table, listTriggers]))
  const listed = Object.entries({ ...ofLists, ...ownTriggers }).flatMap(([table, triggers]) =>
    Object.entries(triggers).map(([name, firing]) => `${table} ${name} ${letters[firing]}`),
  )
  expect(listed.sort()).toEqual(made.sort())
})

test('the database has the lists of the resources, with the order that each expects', async () => {
  const lists =
    await platform`select resource, stamp like 'coalesce%' as unstamped_first from gateway.list order by resource`
  const resources = [products, signups, vouchers].map(({ removal, unstampedFirst }) => ({
    resource: removal,
    unstamped_first: unstampedFirst,
  }))
  expect(lists).toEqual(resources.sort((a, b) => a.resource.localeCompare(b.resource)))
})

test.each(problems)('/readyz and the log report $what, once, and its repair', async ({ apply, undo, reasons }) => {
  const { ready, logged } = await createReadiness()
  expect(await ready()).toMatchObject({ status: 200, body: healthy })
  await platform.unsafe(apply).simple()
  try {
    for (let time = 0; time < 3; time++)
      expect(await ready()).toMatchObject({ status: 503, body: { ...failing, reasons } })
    expect(logged()).toMatchObject([{ level: 50, msg: broken, reasons }])
  } finally {
    await platform.unsafe(undo).simple()
  }
  for (let time = 0; time < 3; time++) expect(await ready()).toMatchObject({ status: 200, body: healthy })
  expect(logged()).toMatchObject([{ msg: broken }, { level: 30, msg: repaired }])
})

test('a second problem is logged with the first', async () => {
  const { ready, logged } = await createReadiness()
  const [first, second] = problems
  await platform.unsafe(first!.apply)
  await ready()
  await platform.unsafe(second!.apply)
  await ready()
  await platform.unsafe(`${first!.undo}; ${second!.undo}`).simple()
  expect(logged()).toMatchObject([
    { reasons: first!.reasons },
    { reasons: expect.arrayContaining([...first!.reasons, ...second!.reasons]) },
  ])
})

test.each([
  ['before ours', touch('insert or update', 'a_touch')],
  ['disabled', `${touch('insert or update')}; alter table purchased_voucher disable trigger zz_touch`],
  ['after the row', touch('update').replace('before', 'after')],
  ['of a statement', touch('update').replace('each row', 'each statement')],
  ['before a deletion', touch('delete')],
  ['of a table without stamps', touch('update', 'zz_touch', 'category')],
])('a trigger of the platform is allowed %s', async (_, apply) => {
  const { ready } = await createReadiness()
  await platform.unsafe(apply).simple()
  try {
    expect(await ready()).toMatchObject({ status: 200, body: healthy })
  } finally {
    await platform.unsafe(untouch)
  }
})

test('the triggers are checked at start and each minute', async () => {
  const [problem] = problems
  await platform.unsafe(problem!.apply)
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const { logged } = await createReadiness()
  await until('the problem is logged', async () => logged().length === 1, 10_000)
  await platform.unsafe(problem!.undo)
  vi.advanceTimersByTime(60_000)
  await until('the repair is logged', async () => logged().length === 2, 10_000)
  await platform.unsafe(problem!.apply)
  vi.advanceTimersByTime(60_000)
  await until('the problem is logged again', async () => logged().length === 3, 10_000)
  await platform.unsafe(problem!.undo)
  expect(logged().map(({ msg }) => msg)).toEqual([broken, repaired, broken])
})

test.each([
  ['that lacks a migration', 'delete from gateway.migration where version = 15', 'lacks 1 migration. Apply'],
  [
    'of an unreleased version',
    "update gateway.migration set md5 = 'x' where version = 15",
    'migration 15 is not the one',
  ],
])('a database %s is not ready, and says so', async (_, change, reason) => {
  const { ready } = await createReadiness()
  const former = await platform`select * from gateway.migration where version = 15`
  await platform.unsafe(change)
  expect(await ready()).toEqual({
    status: 503,
    body: {
      ...{ status: 'failing', checks: { database: 'ok', migrations: 'failing', triggers: 'failing' } },
      reasons: [expect.stringContaining(reason)],
    },
  })
  await platform`delete from gateway.migration where version = 15`
  await platform`insert into gateway.migration ${platform(former)}`
  expect(await ready()).toMatchObject({ status: 200, body: healthy })
})

test('a database of a newer version is not compared with this list', async () => {
  const { ready } = await createReadiness()
  await platform`drop trigger record_truncated on tenant`
  await platform`insert into gateway.migration (version, name, md5) values (9999, 'of a newer version', '')`
  expect(await ready()).toMatchObject({ status: 200, body: healthy })
})
