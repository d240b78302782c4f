/** DDL of one source fails no write of another one; the source that is missing is named with its remedy, and comes back. */
import { expect, test } from 'vitest'
import type { Check } from '../../src/doctor/judge.ts'
import { findRecordProblems } from '../../src/projection/check.ts'
import type { Reason } from '../../src/reasons.ts'
import { createApp } from '../support/app.ts'
import { createBuilders, whole } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { run } from '../support/process.ts'

const database = await createDatabase()
const { pool, platform, url } = database
const build = createBuilders(database)
const { ask, rest } = await createApp(database)
const tenant = await build.tenant()
const product = await build.product(tenant)
const categories = [await build.category(tenant, [product]), await build.category(tenant)]
await build.variant(product)
await build.voucher(tenant)
await build.customer(tenant)
const { secret } = await build.token([whole(tenant)])
await platform`create schema spare`

/** The column of each source that `writeAll` writes, and that a list shows. */
const columns: Record<string, string> = {
  tenant: 'name',
  category: 'title',
  product: 'title',
  product_category: 'category_id',
  variant: 'title',
  purchased_voucher: 'product_title',
  customer: 'full_name',
}

/** Those that are read together: without one, lists keep what they had of both. */
const together = ['product', 'product_category']

type Values = Record<string, string>

/** Updates all sources. @param missing one that has another name at present. @returns what the lists have to show */
async function writeAll(text: string, missing?: { table: string; name: string }): Promise<Values> {
  const written: Values = {}
  for (const [table, column] of Object.entries(columns)) {
    const name = missing?.table === table ? missing.name : table
    const value = table === 'product_category' ? `${categories.join(' + ')} - category_id` : `'${text}'`
    const rows = await platform.unsafe<{ value: string }[]>(
      `update ${name} set ${column} = ${value} returning ${column}::text as value`,
    )
    written[table] = rows[0]!.value
  }
  return written
}

/** Reads from the lists what `writeAll` writes. */
async function readAll(): Promise<Values> {
  const first = async (path: string) => {
    const { status, text, body } = await rest(secret, `/tenants${path}`)
    expect(status, text).toBe(200)
    return body.data[0]
  }
  const listed = await first(`/${tenant}/catalog/vouchers`)
  return {
    tenant: (await first('')).name,
    category: listed.category_refs[0].title,
    product: listed.title,
    product_category: String(listed.category_refs[0].id),
    variant: listed.variant_summaries[0].title,
    purchased_voucher: (await first(`/${tenant}/sales/purchased-vouchers`)).product_title,
    customer: (await first(`/${tenant}/customers/marketing-signups`)).full_name,
  }
}

/** Reads what `/readyz` says of sources that are missing or not captured. @param askDoctor whether `doctor` has to say the same */
async function readReasons(askDoctor: boolean): Promise<Reason[]> {
  const { status, body } = await ask({ method: 'GET', url: '/readyz' })
  const reasons = body.reasons.filter(({ code }: Reason) => code !== 'MAPPING_BROKEN')
  expect(status).toBe(200)
  if (askDoctor) {
    const { stdout } = await run(['doctor', '--json'], { DATABASE_URL: url })
    const { checks }: { checks: Check[] } = JSON.parse(stdout)
    expect(checks.find(({ name }) => name === 'capture')?.reasons).toEqual(reasons)
  }
  return reasons
}

/** Lets a table be missing, and what brings it back. */
const changes: [
  change: string,
  run: (table: string) => string,
  name: (table: string) => string,
  undo: (table: string) => string,
][] = [
  [
    'renamed',
    table => `alter table ${table} rename to away`,
    () => 'away',
    table => `alter table away rename to ${table}`,
  ],
  [
    'moved to another schema',
    table => `alter table ${table} set schema spare`,
    table => `spare.${table}`,
    table => `alter table spare.${table} set schema public`,
  ],
  [
    'dropped, and created again',
    table =>
      `create table spare.${table} (like ${table} including all);
       insert into spare.${table} select * from ${table};
       drop table ${table} cascade`,
    table => `spare.${table}`,
    table => `alter table spare.${table} set schema public`,
  ],
]

test.each(
  changes.flatMap(([change, ...statements]) =>
    Object.keys(columns).map((table): [string, string, typeof statements] => [table, change, statements]),
  ),
)('%s is %s', async (table, change, [lose, nameOf, undo]) => {
  // A run of the command takes half a second.
  const isAsked = table === 'variant'
  const former = await writeAll('before')
  expect(await readAll()).toEqual(former)
  await platform.unsafe(lose(table)).simple()

  const written = await writeAll(`${table} is ${change}`, { table, name: nameOf(table) })
  const kept = together.includes(table) ? together : [table]
  expect(await readAll()).toEqual({ ...written, ...Object.fromEntries(kept.map(each => [each, former[each]])) })
  expect(await readReasons(isAsked)).toEqual([
    {
      code: 'SOURCE_MISSING',
      level: 'error',
      message: `Table public.${table}, a source of records, does not exist.`,
      action: 'Let the owner of the schema gateway create it, or install a mapping that does not read it.',
    },
  ])

  await platform.unsafe(undo(table))
  // A table that was created again has no triggers: the service captures it.
  await expect.poll(() => readReasons(false), { timeout: 20_000 }).toEqual([])
  expect(await readReasons(isAsked)).toEqual([])
  expect(await readAll()).toEqual(written)
  expect(await findRecordProblems(pool)).toEqual([])
})
