import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { serve } from '../support/process.ts'

const { address, platform, url } = await createDatabase()

/** For a process of its own: code that looks at the classes changes how V8 treats them. */
const program = `
  import { connect } from './src/db/connection/connect.ts'
  import { letDriverCompile } from './src/db/connection/compilable.ts'
  const pool = connect(${JSON.stringify(address)}, { max: 1, statementTimeoutMs: 10_000 })
  const statement = pool\`select 1\`
  const classes = [statement.constructor, (await statement).constructor]
  const before = classes.map(made => %HasFastProperties(made))
  await letDriverCompile(pool)
  console.log(JSON.stringify({ before, after: classes.map(made => %HasFastProperties(made)) }))
  await pool.end()`

test('classes of the driver leave dictionary mode, and stay in it without the call', () => {
  const flags = ['--allow-natives-syntax', '--import', 'tsx', '--input-type', 'module', '--eval', program]
  const output = JSON.parse(execFileSync(process.execPath, flags, { encoding: 'utf8' }))
  expect(output).toEqual({ before: [false, false], after: [true, true] })
})

test('the service makes the call when it starts', async () => {
  await platform`create extension if not exists pg_stat_statements`
  const service = await serve({ DATABASE_URL: url })
  await service.stop('SIGTERM')
  const sent = await platform`
    select from pg_stat_statements join pg_database on pg_database.oid = dbid
    where datname = current_database() and query ~ 'driver[.]compile'`
  expect(sent.length).toBe(1)
})
