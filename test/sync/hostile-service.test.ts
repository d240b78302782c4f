/** Tests that a hostile service, or an attacker in its place, does no harm to the machine that runs `sync`. */
import { readdirSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { openSqlite } from '../../packages/sync/src/stores/node-sqlite.ts'
import { directoryPlace, hasSqlite, type Place, postgresPlace, sqlitePlace } from '../support/copies.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { type Answers, honestAnswers, startHostileService, voucherRecord } from '../support/hostile-service.ts'
import { sync } from '../support/reference-sync.ts'

const service = await startHostileService()
const runs = 60

/** A new place for a copy, and its surroundings, which an attack would change. */
interface Target {
  place: Place
  schema?: string
  surroundings: () => Promise<unknown>
}

const ownFile =
  /^copy\/(tenants|(catalog-vouchers|purchased-vouchers|marketing-signups)\/[1-9]\d*)\.ndjson$|^copy\/\.sync\//

function directoryTarget(): Target {
  const place = directoryPlace()
  const parent = dirname(place.to)
  writeFileSync(join(parent, 'outside.ndjson'), '{"id":1}\n')
  const surroundings = async () =>
    readdirSync(parent, { recursive: true, withFileTypes: true })
      .filter(entry => !entry.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name).slice(parent.length + 1))
      .filter(path => !ownFile.test(path))
      .map(path => [path, readFileSync(join(parent, path), 'utf8')])
  return { place, surroundings }
}

let schemas = 0
function postgresTarget({ url, platform }: TestDatabase): Target {
  const schema = `copy_${++schemas}`
  const surroundings = async () =>
    await platform`
      select nspname, relname, relkind, (select string_agg(name, ',') from integrator) as rows
      from pg_class join pg_namespace on pg_namespace.oid = relnamespace
      where nspname <> all (array['pg_toast', 'pg_catalog', 'information_schema']) and nspname !~ '^copy_' order by 1, 2`
  return { place: postgresPlace(url, schema), schema, surroundings }
}

function sqliteTarget(): Target {
  const place = sqlitePlace()
  const path = place.to.slice('sqlite:'.length)
  const surroundings = async () => {
    const database = await openSqlite(path)
    database.exec('create table if not exists integrator (name text)')
    const tables = database.prepare('select name, sql from sqlite_master order by name').all()
    database.close()
    return tables.filter(row => JSON.stringify(row).includes('integrator') || /drop|attach/i.test(JSON.stringify(row)))
  }
  return { place, surroundings }
}

const database = await createDatabase()
await database.platform`create table integrator as select 'mine'::text as name`
const targets: [string, () => Target][] = [
  ['a directory', directoryTarget],
  ['PostgreSQL', () => postgresTarget(database)],
  ...((await hasSqlite()) ? [['SQLite', sqliteTarget] satisfies [string, () => Target]] : []),
]

/** A text that closes the array of records of a statement, and names another table. */
const sql = 'tenants; drop table public.integrator; delete from voucher_gateway_copy.tenants'
const change = { tenantId: 1, pass: 1 }
const closing =
  `9,null,{}]]},${JSON.stringify({ kind: 'sweep', list: sql, ...change })},` +
  `${JSON.stringify({ kind: 'put', list: 'tenants', ...change }).slice(0, -1)},"records":[[9`

const texts = [closing, sql, '../../outside', '/tmp/outside', '1', '__proto__', '', '\0', '\ud800', '..']
const others = [2 ** 53, -1, 0, 1.5, 1e300, null, [], {}, [1], true, '2026-02-30T00:00:00.000000Z', 'infinity']
const days = { min: new Date('0001-01-01'), max: new Date('9999-12-31'), noInvalidDate: true }
const values = fc.oneof(
  fc.constantFrom<unknown>(...texts),
  fc.constantFrom<unknown>(...others),
  fc.integer(),
  fc.maxSafeNat(),
  fc.string(),
  fc.date(days).map(at => at.toISOString()),
  fc.jsonValue(),
)

/** The service does not name changes, because a first pass with changes waits a second. */
const noChanges = null

const isId = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 1
const isCount = (value: unknown) => Number.isSafeInteger(value) && Number(value) >= 0
const isInstant = (value: unknown) =>
  typeof value === 'string' &&
  /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z$/.test(value) &&
  new Date(value).toJSON()?.slice(0, 10) === value.slice(0, 10)
const isCursor = (value: unknown) =>
  value === null || (typeof value === 'string' && /^[^\0\p{Surrogate}]+$/u.test(value))
const isChunkCursor = (value: unknown) => value !== null && isCursor(value)

const resources = ['CATALOG_VOUCHER', 'MARKETING_SIGNUP', 'PURCHASED_VOUCHER', 'TENANT']
const isResource = (value: unknown) => resources.includes(String(value))

/** The fields that a sync uses, with a check of valid values, and their places in the answers. */
const fields: [string, (value: unknown) => boolean, place: string][] = [
  ['data[0].tenant_id', isId, 'tenants.data.0.tenant_id'],
  ['data[0].updated_at', isInstant, 'tenants.data.0.updated_at'],
  ['server_time', isInstant, 'tenants.server_time'],
  ['next_cursor', isCursor, 'catalog/vouchers.next_cursor'],
  ['data[0].id', isId, 'catalog/vouchers.data.0.id'],
  ['data[1].id', isId, 'sales/purchased-vouchers.data.1.id'],
  ['data[0].updated_at', isInstant, 'customers/marketing-signups.data.0.updated_at'],
  ['line.server_time', isInstant, 'export.0.server_time'],
  ['record.id', isId, 'export.1.id'],
  ['record.updated_at', isInstant, 'export.2.updated_at'],
  ['record.order_id', isId, 'export.2.order_id'],
  ['line.cursor', isChunkCursor, 'export.3.cursor'],
  ['records[0].resource', isResource, 'removals.records.0.resource'],
  ['records[0].recordId', isId, 'removals.records.0.recordId'],
  ['removals.epoch', isCount, 'removals.epoch'],
  ['removals.nextCursor', isCursor, 'removals.nextCursor'],
  ['changes.lists[3].tenantId', isId, 'changes.lists.3.tenantId'],
  ['changes.lists[1].since', isInstant, 'changes.lists.1.since'],
  ['changes.serverTime', isInstant, 'changes.serverTime'],
  ['changes.epoch', isCount, 'changes.epoch'],
  ['totalCount', isCount, 'count'],
]

function set(answers: Answers, place: string, value: unknown): void {
  const [last = '', ...names] = place.split('.').reverse()
  const target = names.reduceRight<object>((at, name) => Reflect.get(at, name), answers)
  Reflect.set(target, last, value)
}

describe.each(targets)('a copy in %s', (_, createTarget) => {
  test('accepts only ids, instants, cursors and lists, and names the invalid field', async () => {
    const attack = fc.asyncProperty(fc.constantFrom(...fields), values, async ([field, isRight, at], value) => {
      const { place, surroundings, ...options } = createTarget()
      const before = await surroundings()
      service.answers = honestAnswers()
      if (!at.startsWith('changes')) service.answers.changes = noChanges
      set(service.answers, at, value)
      const { code, error } = await sync(service.url, 'token', place, options)
      expect([field, value, code, error]).toEqual(
        isRight(value)
          ? [field, value, 0, undefined]
          : [field, value, 4, expect.objectContaining({ message: expect.stringContaining(`${field} is no`) })],
      )
      expect(await surroundings()).toEqual(before)
    })
    await fc.assert(attack, {
      numRuns: runs,
      examples: [
        [fields[0]!, '../../outside'],
        [fields[4]!, closing],
        [fields[8]!, closing],
        [fields.find(([field]) => field === 'line.cursor')!, '\0'],
        [fields.find(([field]) => field === 'next_cursor')!, '\ud800'],
      ],
    })
  })

  test('holds any text unchanged', async () => {
    // The type jsonb of PostgreSQL allows neither NUL nor half of a surrogate pair.
    const text = fc.oneof(
      fc.constantFrom(closing, sql, '../outside', "';--", '"}]', '\n', '\u2028', '\u0085'),
      fc.string({ unit: 'grapheme' }),
    )
    const round = fc.asyncProperty(
      text.filter(each => !each.includes('\0')),
      text.filter(each => each !== '' && each !== 'id' && !each.includes('\0') && each !== 'updated_at'),
      async (title, name) => {
        const { place, surroundings, ...options } = createTarget()
        const before = await surroundings()
        service.answers = { ...honestAnswers(), changes: noChanges }
        const record = { ...voucherRecord(3), product_title: title, [`later ${name}`]: title }
        service.answers.export[4] = record
        expect((await sync(service.url, 'token', place, options)).code).toBe(0)
        expect((await place.read())['purchased-vouchers 1 3']).toEqual(record)
        expect(await surroundings()).toEqual(before)
      },
    )
    await fc.assert(round, { numRuns: runs / 3 })
  })
})

test.each([
  ['a list', 'purchased-vouchers'],
  ['the directory of the checkpoint', '.sync'],
  ['a file', 'purchased-vouchers/1.ndjson'],
  ['a file that is being written', 'purchased-vouchers/1.ndjson.tmp'],
  ['a checkpoint', '.sync/checkpoint.json'],
  ['a journal', '.sync/journal-3.ndjson'],
])('a symbolic link in a copy is not followed: %s', async (_, name) => {
  const { place } = directoryTarget()
  service.answers = honestAnswers()
  for (let round = 0; round < 2; round++) expect((await sync(service.url, 'token', place)).code).toBe(0)
  const path = join(place.to, name)
  const elsewhere = join(dirname(place.to), 'elsewhere')
  if (name.endsWith('.tmp')) writeFileSync(elsewhere, 'Mine.')
  else renameSync(path, elsewhere)
  symlinkSync(elsewhere, path)
  const contentOf = () =>
    name.includes('.', 1)
      ? readFileSync(elsewhere, 'utf8')
      : readdirSync(elsewhere).map(file => readFileSync(join(elsewhere, file), 'utf8'))
  const before = contentOf()
  const { code, error } = await sync(service.url, 'token', place)
  expect([code, error]).toMatchObject([1, { message: expect.stringContaining(`${path} is a symbolic link`) }])
  expect(contentOf()).toEqual(before)
})
