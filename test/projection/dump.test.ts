/**
 * Tests dumps in the forms of docs/maintaining.md. The tests use the packaged server, because only its package has
 * pg_dump and pg_restore.
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { migrate } from '../../src/db/migration/migrate.ts'
import type { Pool } from '../../src/db/sql.ts'
import { checkFigures } from '../../src/domain/figures/check.ts'
import { makeStep } from '../../src/projection/step.ts'
import { readStepState } from '../../src/projection/step-state.ts'
import { createApp } from '../support/app.ts'
import { createBuilders, createTestToken, whole } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { addressUrl, connect, serviceRole } from '../support/connect.ts'
import { createDatabase, createEmptyDatabase, type TestDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { packagedPrograms, startPackaged } from '../support/packaged-postgres.ts'
import { run } from '../support/process.ts'
import { projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'

type Address = TestDatabase['address']

/** Runs a program of PostgreSQL. @returns the output, the status and the errors */
function runProgram(program: string, { host, port, user }: Address, args: string[], input?: string) {
  const options = { encoding: 'utf8', input, maxBuffer: 1e9 } as const
  const words = ['-h', host, '-p', `${port}`, '-U', user, ...args]
  const { stdout, stderr, status } = spawnSync(join(packagedPrograms(), program), words, options)
  return { stdout, status, stderr, errors: [...stderr.matchAll(/^ERROR: {2}(.*)$/gm)].map(([, message]) => message!) }
}

const dump = (address: Address, ...options: string[]) =>
  runProgram('pg_dump', address, [...options, address.database]).stdout

/** Restores a plain dump, and continues after each error. @returns the errors */
const restoreWithErrors = (address: Address, text: string) =>
  runProgram('psql', address, ['-q', address.database], text).errors

const restore = (address: Address, text: string) => expect(restoreWithErrors(address, text)).toEqual([])

const source = await createDatabase()
const build = createBuilders(source)
const tenant = await build.tenant()
const venue = await build.tenant({ parent_id: tenant })
const product = await build.product(venue)
await build.category(venue, [product])
await build.variant(product)
await build.customer(venue)
for (let n = 0; n < 3; n++) await build.sale(venue, 50, '2026-05-04')
const deleted = await build.voucher(venue)
const { secret } = await build.token([whole(tenant)])
await source.platform`delete from purchased_voucher where id = ${deleted}`
await projected(source.pool)
const [{ seen }] = await source.pool<[{ seen: string }]>`select max(stamp) as seen from gateway.step`
// Uses up transaction ids, so that the server of the restored databases has lower ids.
await source.platform.unsafe(
  'do $$ begin for n in 1..20000 loop perform pg_current_xact_id(); commit; end loop; end $$',
)
// No step follows this change, so the dumps contain its note.
await source.platform`update purchased_voucher set product_title = 'Last'`
const from = source.address

/** The server of the restored databases. */
const server = await startPackaged({ fsync: 'off' })
afterFile(() => server.stop())
const admin = connect(server, { max: 1, statementTimeoutMs: 60_000 })
await admin.unsafe('create role shop login')

let targets = 0

/** Creates a database without tables. @param user its owner */
async function createTarget(user = 'shop'): Promise<Address> {
  targets += 1
  const database = `target_${targets}`
  await admin.unsafe(`create database ${database} owner ${user} template template0`)
  return { host: server.host, port: server.port, user, database }
}

/** Creates a migrated database on which steps have run. */
async function createMigrated(): Promise<Address> {
  const address = await createTarget()
  const { owner, service } = connectTo(address)
  await migrate(owner)
  await projected(service)
  await Promise.all([owner, service].map(sql => sql.end()))
  return address
}

function connectTo(address: Address) {
  const owner = connect(address, { max: 1, statementTimeoutMs: 60_000 })
  const service = connect(address, { max: 4, statementTimeoutMs: 10_000, role: serviceRole })
  return { owner, service }
}

const withoutRole = restoreWithErrors(await createTarget(), dump(from, '--no-owner'))
await admin
  .unsafe(
    'create role voucher_gateway nologin; create role voucher_gateway_reader nologin; grant voucher_gateway, voucher_gateway_reader to shop',
  )
  .simple()

const readVouchers = (sql: Pool) => sql`select id, reference, product_title from purchased_voucher order by id`

/** The ways in which a restore can differ from a complete restore. */
interface Expected {
  /** False when the service does not detect the restore. */
  isDetected?: boolean
  /** False when the tokens are lost. */
  hasTokens?: boolean
  /** The number of sources that are not captured, until the service captures them again. */
  uncaptured?: number
}

/**
 * Expects that a restored database serves the rows of the source and new changes, and that a copy from before the
 * restore needs a full pass.
 */
async function expectServed(address: Address, { isDetected = true, hasTokens = true, uncaptured = 0 }: Expected = {}) {
  const { owner, service } = connectTo(address)
  await migrate(owner)
  const readEpoch = (sql: Pool) => sql`select epoch from gateway.sync_state`.then(([row]) => row?.epoch)
  const former = await readEpoch(owner)
  expect((await readEpoch(service)) !== former).toBe(isDetected)
  if (!isDetected) await owner`select gateway.require_full_pass()`

  expect(await owner`select from gateway.find_uncaptured()`).toHaveLength(uncaptured)
  const { app, ask, rest, graphql } = await createApp({ pool: service })
  const readReasons = async () => (await ask({ method: 'GET', url: '/readyz' })).body.reasons
  await expect.poll(readReasons, { timeout: 20_000 }).toEqual([])

  const token = hasTokens ? secret : (await createTestToken(service, [whole(tenant)])).secret
  const list = async () => {
    const { status, text, body } = await rest(token, `/tenants/${venue}/sales/purchased-vouchers`)
    expect(status, text).toBe(200)
    const vouchers: { id: number; reference: string; product_title: string }[] = body.data
    return vouchers.sort((a, b) => a.id - b.id)
  }
  expect(await list()).toMatchObject([...(await readVouchers(source.platform))])
  const { body } = await graphql(
    token,
    `{ tenant(id: "${tenant}") { removals(updatedSince: "${seen}") { nodes { recordId } } } }`,
  )
  expect(body.errors?.[0].extensions.errors.updatedSince.join()).toContain('a full pass is needed')

  await owner
    .unsafe(`insert into purchased_voucher (tenant_id, reference, product_title) values (${venue}, 'NEW', 'New');
      update purchased_voucher set product_title = 'Changed' where id = 1;
      delete from purchased_voucher where id = 2`)
    .simple()
  expect((await list()).map(({ product_title }) => product_title)).toEqual(['Changed', 'Last', 'New'])
  await app.close()
  expect(await findRecordProblems(service)).toEqual([])
  expect((await checkFigures(service)).differences).toEqual([])
}

/** The tables in which a migrated database has rows. */
const filledTables =
  'check_progress definition key_field made_object mapping migration rule sync_state template webhook_sender'.split(' ')

const createOwned = () => createTarget('postgres')

const unnoticed = { isDetected: false, hasTokens: false }

test.each<[form: string, create: () => Promise<Address>, dumps: string[], expected?: Expected]>([
  ['plain', createOwned, ['-Fp']],
  ['plain, --no-owner', createTarget, ['--no-owner']],
  ['--schema-only, then --data-only', createTarget, ['--schema-only --no-owner', '--data-only']],
  ['--clean --if-exists, into a migrated database', createMigrated, ['--clean --if-exists --no-owner']],
  ['--disable-triggers', createOwned, ['--schema-only', '--data-only --disable-triggers'], { uncaptured: 7 }],
  ['-n public --data-only, into a migrated database', createMigrated, ['-n public --data-only'], unnoticed],
])('%s', async (_, create, dumps, expected) => {
  const to = await create()
  for (const options of dumps) restore(to, dump(from, ...options.split(' ')))
  await expectServed(to, expected)
})

test.each([
  [['-Fc'], []],
  [['-Fd', '-j2'], ['-j2']],
  [['-Fc'], ['--single-transaction']],
])('%j, pg_restore %j', async (form, options) => {
  const [to, file] = [await createTarget(), join(createDirectory(), 'dump')]
  dump(from, ...form, '-f', file)
  const words = ['--exit-on-error', '--no-owner', '-d', to.database, ...options, file]
  expect(runProgram('pg_restore', to, words)).toMatchObject({ status: 0, stderr: '' })
  await expectServed(to)
})

test('a --clean dump is restored into its own database, and served', async () => {
  const to = await createMigrated()
  restore(to, dump(from, '--clean', '--if-exists', '--no-owner'))
  const { owner, service } = connectTo(to)
  await projected(service)
  const text = dump(to, '--clean', '--no-owner')
  await owner`update purchased_voucher set product_title = 'Lost'`
  await projected(service)
  restore(to, text)
  await expectServed(to, { isDetected: false })
})

test('a --data-only dump is restored into a migrated database, and served', async () => {
  const to = await createMigrated()
  const errors = restoreWithErrors(to, dump(from, '--data-only'))
  expect(errors).toEqual(filledTables.map(table => `duplicate key value violates unique constraint "${table}_pkey"`))
  await expectServed(to, { isDetected: false })
})

test('a dump of the schema public is restored into an empty database, and served after migrate', async () => {
  const to = await createTarget()
  const errors = restoreWithErrors(to, dump(from, '-n', 'public', '--no-owner'))
  expect([...new Set(errors)].filter(message => !/^trigger "capture_\w+" for table/.test(message))).toEqual([
    'schema "public" already exists',
    'schema "gateway" does not exist',
  ])
  const { owner, service } = connectTo(to)
  await migrate(owner)
  // A full pass needs a step from which it can begin.
  await projected(service)
  await expectServed(to, unnoticed)
})

test('after a dump during the first fill, a restored database repeats the fill and loses no change', async () => {
  const { address, owner: filling } = await createEmptyDatabase()
  await migrate(filling)
  await filling`insert into tenant (id, name) values (1, 'Shop')`
  await filling`insert into purchased_voucher (tenant_id, reference) values (1, 'A'), (1, 'B'), (1, 'C')`
  await makeStep(connectTo(address).service, 1)
  const to = await createTarget()
  restore(to, dump(address, '--no-owner'))
  const { owner, service } = connectTo(to)
  await migrate(owner)
  let changes = 0
  while ((await readStepState(service)).secondsSinceStep === null) {
    changes += 1
    await owner`update purchased_voucher set product_title = ${`Title ${changes}`}`
    await makeStep(service, 1)
  }
  await projected(service)
  const records = await service`select reference, product_title as title from gateway.voucher order by reference`
  expect([...records]).toEqual(['A', 'B', 'C'].map(reference => ({ reference, title: `Title ${changes}` })))
  expect(await findRecordProblems(service)).toEqual([])
})

test('the first fill of a restored database ends when no service had used it before the dump', async () => {
  const { address, owner: unused } = await createEmptyDatabase()
  await migrate(unused)
  const to = await createTarget()
  restore(to, dump(address, '--no-owner'))
  const { owner, service } = connectTo(to)
  await migrate(owner)
  let steps = 0
  while (await makeStep(service)) expect(++steps).toBeLessThan(200)
  expect(await readStepState(service)).toMatchObject({ waiting: 0 })
})

test('a restore on a server without the roles of the service reports only the missing roles', () => {
  const missing = ['voucher_gateway', 'voucher_gateway_reader'].map(role => `role "${role}" does not exist`)
  expect([...new Set(withoutRole)].sort()).toEqual(missing)
})

test('after a restore with --no-privileges, the service has no rights, and migrate does not grant them', async () => {
  const to = await createTarget()
  restore(to, dump(from, '--no-owner', '--no-privileges'))
  expect(await run(['migrate'], { DATABASE_URL: addressUrl(to) })).toMatchObject({ code: 0 })
  await expect(connectTo(to).service`select from gateway.voucher`).rejects.toMatchObject({ code: '42501' })
})

test('a dump of the schema of the platform can be restored on a server without the gateway', async () => {
  const { address } = await createEmptyDatabase('template template0')
  const triggers = /^CREATE TRIGGER capture_\w+ .*$|^ALTER TABLE .* TRIGGER capture_\w+;$/gm
  const restored = dump(from, '-n', 'public').replaceAll(triggers, '')
  expect(restored).not.toContain('gateway.')
  restore(address, `drop schema public; ${restored}`)
  restore(address, "insert into public.purchased_voucher (tenant_id, reference) values (1, 'A')")
})
