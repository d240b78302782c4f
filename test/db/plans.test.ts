import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { administration } from './plans/administration.ts'
import { integration } from './plans/integration.ts'
import type { Parts } from './plans/journey.ts'
import { createPlanReader, namesIn, type PlanReader } from './plans/plan.ts'
import { problemsOf } from './plans/problems.ts'
import { search } from './plans/search.ts'
import { large, seedTables, small } from './plans/seed.ts'
import { service } from './plans/service.ts'

const generic = [...integration, ...administration, ...service]
const journeys = [...generic, ...search]

/** The statements that each tenant table has (src/domain/record/tenant-table.ts). */
const ofTenantTable = ['list', 'list_of_tenants', 'count', 'find', 'find_many', 'chunk']

/** The statements that a filtered or ordered list has (src/domain/search/search-table.ts). */
const ofSearch = ['search', 'search_range', 'search_sample', 'search_sizes', 'search_count']

/** Statements that never run on large tables, and why. */
const never: Record<string, string> = {
  'blockers.read': 'reads the sessions of the server only',
  'database.reach': 'touches no table',
  'demo.analyze': 'loads the demo data',
  'demo.copy': 'loads the demo data',
  'demo.keep_updated_at': 'touches no table',
  'demo.move_sequence': 'after the demo data are loaded, once',
  'demo.no_timeout': 'touches no table',
  'demo.today': 'touches no table',
  'figure.check': 'counts all records: the command verify',
  'figure.recount': 'truncates the rollups: the command verify',
  'migration.check_connection': 'touches no table',
  'migration.invalid_indexes': 'reads the catalog only',
  'migration.lock': 'touches no table',
  'migration.prepare': 'touches no table',
  'migration.read': 'one row for each file of sql/',
  'migration.record': 'inserts one row',
  'migration.table_exists': 'reads the catalog only',
  'migration.wait': 'touches no table',
  'removal.chunk': 'removals are not exported',
  'removal.find': 'no removal is read by its id',
  'removal.find_many': 'no removal is read by its id',
  'triggers.read': 'reads the catalog only',
  'triggers.read_lists': 'reads one row for each list',
  'triggers.read_inheritance': 'reads the catalog only',
}

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
  await seedTables(database)
})

describe.each([
  { kind: 'generic' as const, made: generic },
  // The journeys that can run twice, and those whose statements the server plans for their own parameters.
  { kind: 'custom' as const, made: [...integration, ...search] },
])('with $kind plans', ({ kind, made }) => {
  let reader: PlanReader
  let parts: Parts

  beforeAll(async () => {
    reader = await createPlanReader(database, kind)
    const { pool } = reader
    // Its background jobs have other connections: their statements belong to no journey.
    const apart = new Proxy(pool, {
      get: (target, key) => Reflect.get(key === 'background' ? database.pool : target, key),
    })
    parts = { pool, apart: database.pool, client: await createApp({ pool: apart }), build: createBuilders(database) }
  })

  afterAll(() => parts.client.app.close())

  it.each(made)('$what', async ({ runs, go, walks, excused, mostRows }) => {
    const plans = await reader.during(() => go(parts))
    expect(plans.map(({ name }) => name)).toEqual(expect.arrayContaining(runs))
    // A statement without a name is part of a function, or checks a foreign key.
    const checked = plans.filter(({ name }) => name === null || runs.includes(name))
    const problems = (leave: boolean) => checked.flatMap(plan => problemsOf(plan, leave, mostRows))
    if (!excused) expect(problems(walks !== undefined)).toEqual([])
    if (excused || walks) expect(problems(false), 'needs no excuse').not.toEqual([])
  })
})

it('the plan of every statement of src/ is checked', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter(file => /\.tsx?$/.test(file))
  const inSource = files.flatMap(file => {
    const text = readFileSync(`src/${file}`, 'utf8')
    const ofTables = [...text.matchAll(/(defineResource|tenantTable)<\w+>\(\{[^}]*?\bname: '(\w+)'/g)].flatMap(
      ([, define, noun]) =>
        [...ofTenantTable, ...(define === 'defineResource' ? ofSearch : [])].map(what => `${noun}.${what}`),
    )
    return [...namesIn(text), ...ofTables]
  })
  const checked = [...journeys.flatMap(({ runs }) => runs), ...Object.keys(never)]
  expect([...new Set(checked)].sort()).toEqual([...new Set(inSource)].sort())
})

it('every table is listed as large or small', async () => {
  const tables = await database.platform<{ name: string }[]>`
    select oid::regclass::text as name from pg_class
    where relkind = 'r' and relnamespace in ('public'::regnamespace, 'gateway'::regnamespace)`
  expect(tables.map(({ name }) => name).sort()).toEqual([...Object.keys(large), ...Object.keys(small)].sort())
})
