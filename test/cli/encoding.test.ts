/** Databases whose encoding cannot hold every text. */
import { expect, onTestFinished, test } from 'vitest'
import postgres from '#postgres'
import { connect, serviceRole } from '../../src/db/connection/connect.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { refusalOf, run } from '../support/process.ts'

test.each([
  'LATIN1',
  'SQL_ASCII',
])('%s: every command, session and sync refuses it, and changes nothing', async encoding => {
  const { address, url } = await createEmptyDatabase(`encoding '${encoding}' locale 'C' template template0`)
  const sql = postgres({ ...address, max: 1, onnotice: () => {} })
  const session = connect(address, { max: 1, statementTimeoutMs: 10_000, role: serviceRole })
  onTestFinished(() => Promise.all([sql.end(), session.end()]).then(() => {}))

  for (const command of ['serve', 'migrate', 'token list']) {
    expect(refusalOf(await run(command.split(' '), { DATABASE_URL: url })), command).toBe(
      `DATABASE_NOT_UTF8: The database has the encoding ${encoding}, in which some texts cannot be stored. It must be UTF8. Create another ` +
        "database, and set DATABASE_URL to it: create database gateway encoding 'UTF8' locale 'C' template template0;\n",
    )
  }
  // As a service that runs finds it, whose database was replaced.
  await expect(session`select 1`).rejects.toThrow(`encoding ${encoding}`)
  const { code, stderr } = await run(['sync', '--url', 'http://127.0.0.1:1', '--to', url], {
    VOUCHER_GATEWAY_TOKEN: 'x',
  })
  expect(stderr).toContain(`The database of the copy has the encoding ${encoding}`)
  expect(code).toBe(2)
  expect(await sql`select nspname from pg_namespace where nspname !~ '^pg_|^information_schema$|^public$'`).toEqual([])
})
