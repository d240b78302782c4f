/** `adopt check`: before anything is installed, and with a faulty file. */
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { run } from '../support/process.ts'

const adopt = new URL('../adopt/', import.meta.url)
const folder = fileURLToPath(new URL('venues', adopt))
const { owner: platform, url } = await createEmptyDatabase()
await platform.unsafe(readFileSync(new URL('venues.tables.sql', adopt), 'utf8')).simple()
const check = (...words: string[]) => run(['adopt', 'check', ...words], { DATABASE_URL: url })

test('it needs no schema, and creates none', async () => {
  const { code, stdout, stderr } = await check(folder)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(
    /^Nothing is wrong\.\n[\s\S]*\ngrant select \(.*\) on shop\.venue to .*;\n[\s\S]*0 errors, 0 warnings\n$/,
  )
  expect(await platform`select from pg_namespace where nspname = 'gateway'`).toEqual([])
})

test('it prints errors with their place, and exits with 1', async () => {
  const faulty = createDirectory()
  cpSync(folder, faulty, { recursive: true })
  writeFileSync(join(faulty, 'customer.from.consent.sql'), '-- Customers\nselect persn from changed;\n')
  const { code, stdout } = await check(faulty)
  expect(code).toBe(1)
  expect(stdout).toMatch(/^customer\.from\.consent\.sql:2: error: column "persn" does not exist\.\n {2}\S/)
  expect(stdout).toMatch(/\n1 error, 0 warnings\n$/)
  expect(JSON.parse((await check(faulty, '--json')).stdout)).toMatchObject({
    findings: [{ file: 'customer.from.consent.sql', line: 2, level: 'error' }],
  })
})

test('it names a folder that does not exist', async () => {
  expect(await check('nowhere')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^There is no folder nowhere\./),
  })
})
