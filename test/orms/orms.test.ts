/** Capture works with the ORMs of platforms: the objects in memory stay correct, and the records are updated. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'

const database = await createDatabase()
const { pool, platform } = database
const { host, port, user, database: name } = database.address
await createBuilders(database).tenant({ id: 1 })
// The platform uses this column for optimistic locks.
await platform`alter table purchased_voucher add column version integer not null default 1`

test.each(['knex', 'sequelize', 'typeorm', 'drizzle'])('objects of %s, row and record agree', async library => {
  const { stdout } = await promisify(execFile)('node', [join(import.meta.dirname, 'write.mjs'), library], {
    env: { ...process.env, PGHOST: host, PGPORT: `${port}`, PGUSER: user, PGDATABASE: name },
  })
  const held: { id: number; balance: number; version: number } = JSON.parse(stdout)
  const [row] = await platform`
    select id, current_balance as balance, version from purchased_voucher where id = ${held.id}`
  expect(held).toEqual(row)
  await projected(pool)
  const [record] = await platform`select current_balance as balance from gateway.voucher where id = ${held.id}`
  expect(record).toEqual({ balance: held.balance })
  expect(await findRecordProblems(pool)).toEqual([])
})
