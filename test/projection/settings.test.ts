/** Settings that an administrator gives a database: no write fails, and records are as their sources. */
import { expect, onTestFinished, test } from 'vitest'
import postgres from '#postgres'
import { deletePassedNotes } from '../../src/projection/step.ts'
import { createApp } from '../support/app.ts'
import { createBuilders, whole } from '../support/builders.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { createDatabase } from '../support/database.ts'
import { run } from '../support/process.ts'
import { makeNextStep, projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'

test.each<[settings: Record<string, string>]>([
  [{ track_counts: 'off' }],
  [{ default_transaction_isolation: 'serializable' }],
  [{ enable_indexscan: 'off', enable_indexonlyscan: 'off', enable_nestloop: 'off' }],
])('a database with %j (I10)', async settings => {
  const database = await createDatabase()
  const { address, platform, url } = database
  const build = createBuilders(database)
  const tenant = await build.tenant()
  const product = await build.product(tenant)
  const { secret } = await build.token([whole(tenant)])
  for (const [name, value] of Object.entries(settings)) {
    await platform.unsafe(`alter database ${address.database} set ${name} = ${value}`)
  }
  const { host, port, user, database: name } = address
  // The driver alone: a pool of ours sets the isolation.
  const writers = [0, 1].map(() => postgres({ host, port, user, database: name, max: 1, onnotice: () => {} }))
  const service = connect(address, { max: 4, statementTimeoutMs: 10_000, role: serviceRole })
  onTestFinished(async () => {
    await Promise.all([...writers, service].map(sql => sql.end({ timeout: 1 })))
  })
  for (const setting of Object.keys(settings)) {
    expect((await writers[0]!.unsafe(`show ${setting}`))[0]).toEqual({ [setting]: settings[setting] })
  }

  for (let turn = 0; turn < 10; turn++) {
    for (const [place, sql] of writers.entries()) {
      await sql`begin`
      await sql`
        insert into purchased_voucher (tenant_id, reference) select ${tenant}, ${`V-${turn}-${place}-`} || n from generate_series(1, 3) n`
      await sql`insert into category (tenant_id, slug, title) values (${tenant}, ${`c-${turn}-${place}`}, 'Category')`
    }
    await projected(service)
    for (const sql of writers) await sql`commit`
    for (const [place, sql] of writers.entries()) {
      await sql`update purchased_voucher set product_title = ${`Turn ${turn}`} where reference like ${`V-${turn}-${place}-%`}`
      await sql`delete from purchased_voucher where reference = ${`V-${turn}-${place}-2`}`
      await sql`
        insert into product_category
        select ${product}, id from category where slug = ${`c-${turn}-${place}`}`
    }
    await projected(service)
    await deletePassedNotes(service)
  }

  expect(await findRecordProblems(service)).toEqual([])

  // Scans find what no note names: in small parts, of a table whose rows are in another order than their keys.
  await writers[0]!`update purchased_voucher set id = 5000 - id`
  await platform.unsafe(`
    truncate gateway.note;
    select gateway.request_scan(record, 'Notes were deleted.', true) from gateway.mapping`)
  while (await makeNextStep(service, 8)) {}

  const { rest } = await createApp({ pool: service })
  const read = async (path: string) => {
    const { status, text, body } = await rest(secret, `/tenants/${tenant}/${path}`)
    expect(status, text).toBe(200)
    return body.data
  }
  const vouchers = await read('sales/purchased-vouchers')
  const listed = vouchers.map(({ reference, product_title }: Record<string, string>) => [reference, product_title])
  const rows = await platform<{ reference: string; title: string }[]>`
    select reference, product_title as title from purchased_voucher`
  expect(listed.sort()).toEqual(rows.map(({ reference, title }) => [reference, title]).sort())
  expect(listed).toHaveLength(40)
  expect((await read('catalog/vouchers'))[0].category_refs).toHaveLength(20)
  expect(await findRecordProblems(service)).toEqual([])
  expect(await run(['verify'], { DATABASE_URL: url })).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('agree with the sources'),
  })
})
