/**
 * Stores records in tables that are partitioned by the hash of the tenant, as docs/scaling.md proposes for large
 * installations. Each statement must read ranges of only one partition per tenant. Some statements also look up rows by
 * key in all partitions.
 */
import { expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.ts'
import { integration } from './plans/integration.ts'
import { testJourneys } from './plans/journey.ts'
import { type Plan, type Step, stepsOf } from './plans/plan.ts'
import { search } from './plans/search.ts'
import { seedTables } from './plans/seed.ts'

/** The tables that have a column for the tenant. */
const tables = ['category', 'product', 'voucher', 'voucher_entry', 'customer', 'removal', 'consent_withdrawal']

/** Replaces the tables of records by partitioned tables with the same rows and indexes. */
async function partitionTables({ platform }: TestDatabase): Promise<void> {
  for (const table of tables) {
    const indexes = await platform<{ definition: string }[]>`
      select pg_get_indexdef(indexrelid) as definition from pg_index
      where indrelid = ${`gateway.${table}`}::text::regclass and not indisprimary`
    const columns = await platform<{ name: string }[]>`
      select attname as name from pg_attribute
      where attrelid = ${`gateway.${table}`}::text::regclass and attnum > 0 and not attisdropped and attgenerated = ''
      order by attnum`
    const names = columns.map(({ name }) => name).join(', ')
    const parts = [0, 1, 2, 3].map(
      part => `
        create table gateway.${table}_${part} partition of gateway.${table} for values with (modulus 4, remainder ${part});`,
    )
    await platform.unsafe(`
      alter table gateway.${table} rename to former_${table};
      create table gateway.${table} (like gateway.former_${table} including defaults including generated)
        partition by hash (tenant_id);
      ${parts.join('')}
      insert into gateway.${table} (${names}) select ${names} from gateway.former_${table};
      grant select on gateway.${table} to voucher_gateway;`)
    for (const { definition } of indexes) {
      // The former index keeps its name, so the new index gets a default name.
      await platform.unsafe(definition.replace(/^(CREATE \w*\s*INDEX) \w+ ON \S+/, `$1 ON gateway.${table}`))
    }
    const [key] = await platform<{ columns: string }[]>`
      select string_agg(attname, ', ' order by place) as columns
      from pg_index, unnest(indkey) with ordinality as keys(number, place), pg_attribute
      where indrelid = ${`gateway.former_${table}`}::text::regclass and indisprimary
        and attrelid = indrelid and attnum = number`
    // The primary key of a partitioned table would have to include the tenant, so an index replaces the key.
    if (key?.columns) await platform.unsafe(`create index on gateway.${table} (${key.columns})`)
  }
  // A partitioned table cannot inherit from another table, so a cast replaces the inheritance from `voucher_fields`.
  const fields = await platform<{ name: string }[]>`
    select attname as name from pg_attribute where attrelid = 'gateway.voucher_fields'::regclass and attnum > 0 order by attnum`
  await platform.unsafe(`
    create function gateway.fields_of(gateway.voucher) returns gateway.voucher_fields language sql immutable
      return row(${fields.map(({ name }) => `($1).${name}`).join(', ')})::gateway.voucher_fields;
    create cast (gateway.voucher as gateway.voucher_fields) with function gateway.fields_of(gateway.voucher)`)
  await platform`vacuum analyze`
}

const partitionOf = (step: Step) =>
  stepsOf(step).flatMap(each => new RegExp(`^(${tables.join('|')})_\\d$`).exec(each['Relation Name'] ?? '') ?? [])[0]

/** Returns the steps of a plan that read more than one partition of a table per run. */
function findWideSteps({ root }: Plan): Step[] {
  return stepsOf(root).filter(step => {
    const read = (step.Plans ?? []).filter(part => part['Actual Loops'] > 0 && partitionOf(part) !== undefined)
    // An Append over the same partition twice is a `union all`, and does not count.
    const isOfPartitions = new Set(read.map(partitionOf)).size === read.length
    const runs = read.reduce((sum, part) => sum + part['Actual Loops'], 0)
    return /Append$/.test(step['Node Type']) && isOfPartitions && runs > step['Actual Loops']
  })
}

/** Returns true when a step finds rows only by id, reference or QR token, with an index of each partition. */
const isLookUpByKey = (step: Step) =>
  stepsOf(step).every(
    ({ 'Index Name': index, 'Index Cond': condition = '' }) =>
      !index || /^\(id = |\((reference|qr_token)\)::text/.test(condition),
  )

/** The statements that look up rows without a condition on their tenants. */
const lookUpStatements = `category.of_products customer.search customer.search_range figures.read product.find_by_ids product.search
  product.search_range resolution.find voucher.search voucher.search_range voucher.search_sample`

const database = await createDatabase()
await seedTables(database)
await partitionTables(database)
const foundLookUps = new Set<string>()

testJourneys(database, { generic: integration, custom: [...integration, ...search] }, plans => {
  for (const plan of plans) {
    const name = plan.name ?? 'a function'
    const wide = findWideSteps(plan)
    if (wide.length > 0 && wide.every(isLookUpByKey)) foundLookUps.add(name)
    else expect(wide, name).toEqual([])
  }
})

it('only the listed statements look up rows in all partitions', () => {
  expect([...foundLookUps].sort()).toEqual(lookUpStatements.split(/\s+/))
})
