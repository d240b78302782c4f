/** `adopt`: the records of another platform are written, saved ids are kept, and nothing is left after all. */
import { cpSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { afterFile } from '../support/cleanups.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { run } from '../support/process.ts'

const adopt = new URL('../adopt/', import.meta.url)
const folder = fileURLToPath(new URL('venues', adopt))
const tables = readFileSync(new URL('venues.tables.sql', adopt), 'utf8')

const venue = '0'.repeat(32)

/** Creates a database of the platform with 300 cards. */
async function createPlatform() {
  const { address, url } = await createEmptyDatabase()
  const platform = connect(address, { max: 1, statementTimeoutMs: 60_000 })
  afterFile(() => platform.end({ timeout: 1 }))
  await platform
    .unsafe(`${tables};
      insert into shop.venue (id, path, name) values ('${venue}', 'shop', 'Shop');
      insert into shop."Gift Card" ("No", venue, code, "valueCents")
      select 'C' || n, '${venue}', 'CODE-' || n, 5000 from generate_series(1, 300) n`)
    .simple()
  return { platform, command: (...words: string[]) => run(['adopt', ...words], { DATABASE_URL: url }), url }
}

const { platform, command, url } = await createPlatform()

test('apply writes the records, and those of changed files', async () => {
  expect(await command('apply', folder)).toMatchObject({ code: 0, stdout: '301 records are written.\n' })
  await platform`update shop."Gift Card" set code = 'code-1' where "No" = 'C2'`
  const { stdout } = await command('apply', folder)
  expect(stdout).toMatch(/^301 records are written\. 1 row breaks a rule: .* verify names them\.\n$/)
})

test('apply installs no mapping that has an error, and the former one stays', async () => {
  const changed = createDirectory()
  cpSync(folder, changed, { recursive: true })
  rmSync(join(changed, 'voucher.from.item.sql'))
  expect(await command('apply', changed)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('voucher.from.item.sql'),
  })
  expect(await command('apply', folder)).toMatchObject({ code: 0 })
})

test('status names rejected keys', async () => {
  const { stdout } = await command('status')
  expect(stdout).toMatch(/^voucher +300 +1 +follows each change$/m)
  expect(stdout).toMatch(/^voucher C2: voucher \d+ has its reference or QR token$/m)
  expect(JSON.parse((await command('status', '--json')).stdout)).toMatchObject({ waiting: 0, rejected: 1 })
})

test('verify names the keys and columns that differ, and repairs them', async () => {
  await platform`update gateway.voucher set currency = 'USD' where reference = 'CODE-3'`
  await platform`alter table shop."Gift Card" disable trigger all`
  await platform`delete from shop."Gift Card" where "No" = 'C4'`
  await platform`alter table shop."Gift Card" enable trigger all`
  const { code, stdout } = await command('verify')
  expect(code).toBe(1)
  expect(stdout).toContain(
    'voucher: 2 keys differ from the source:\n  voucher C3: currency\n  voucher C4: The source has no row.\n',
  )
  await command('verify', '--repair')
  expect(await command('apply', folder)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^300 records/) })
  await platform`insert into shop."Gift Card" ("No", venue, code, "valueCents") values ('C4', ${venue}, 'CODE-4', 5000)`
})

test('plan prints SQL that does what apply does', async () => {
  const other = await createPlatform()
  const { stdout } = await command('plan', '--sql', folder)
  await other.platform.unsafe(stdout).simple()
  expect(await other.command('apply', folder)).toMatchObject({ code: 0, stdout: '301 records are written.\n' })
})

test('ids are kept by a database that reads them, and remove leaves nothing but what the platform uses', async () => {
  const readIds = () => platform`
    select id, reference from gateway.voucher where reference = 'CODE-300'`
  const former = await readIds()
  const { stdout } = await command('ids', 'export')
  expect(stdout).toMatch(/^kind,key,id\ntenant,/)
  expect(await command('remove')).toMatchObject({ code: 2 })
  await platform`create index item_name on shop.item using gin (name gin_trgm_ops)`
  expect(await command('remove', '--yes')).toMatchObject({ code: 0 })
  expect(
    await platform`
    select nspname from pg_namespace where nspname = 'gateway'
    union all select tgname from pg_trigger where not tgisinternal
    union all select relname from pg_class where relnamespace = 'public'::regnamespace
    union all select extname from pg_extension where extname <> 'plpgsql'
    union all select relname from pg_class where relname = 'item_name'`,
  ).toEqual([{ nspname: 'pg_trgm' }, { nspname: 'item_name' }])

  await platform`update shop."Gift Card" set code = 'CODE-2' where "No" = 'C2'`
  await platform`insert into shop."Gift Card" ("No", venue, code, "valueCents") select 'A0', id, 'NEW', 1 from shop.venue`
  expect(await run(['adopt', 'ids', 'import'], { DATABASE_URL: url }, { input: stdout })).toMatchObject({ code: 0 })
  expect(await command('apply', folder)).toMatchObject({ code: 0, stdout: '302 records are written.\n' })
  expect(await readIds()).toEqual(former)
})
