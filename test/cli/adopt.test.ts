/** `adopt` writes the records of another platform, keeps exported ids, and removes everything with `remove`. */
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkMapping } from '../../src/adoption/check.ts'
import { hasMappings, readMappings } from '../../src/db/mapping/mappings.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import { copyVenues, createVenuesDatabase, venuesFolder as folder } from '../adopt/venues.ts'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { run, start } from '../support/process.ts'
import { projected } from '../support/projected.ts'
import { findRecordProblems } from '../support/record-problems.ts'

const venue = '0'.repeat(32)

async function createPlatform() {
  const { adopt: command, ...database } = await createVenuesDatabase(`
    insert into shop.venue (id, path, name) values ('${venue}', 'shop', 'Shop');
    insert into shop."Gift Card" ("No", venue, code, "valueCents")
    select 'C' || n, '${venue}', 'CODE-' || n, 5000 from generate_series(1, 300) n`)
  return {
    ...{ ...database, command },
    /** Installs a mapping and writes the records like `apply`, but without its checks and without a process. */
    async install(folder: string) {
      await migrate(database.platform, { adopted: readMappings(folder) })
      await projected(database.platform)
    },
  }
}

const { platform, command, url } = await createPlatform()

test('apply writes the records, and writes them again when rows or files change', async () => {
  expect(await command('apply', folder)).toMatchObject({ code: 0, stdout: '301 records are written.\n' })
  await platform`update shop."Gift Card" set code = ' ' where "No" = 'C2'`
  const { stdout } = await command('apply', folder)
  expect(stdout).toMatch(/^301 records are written\. 1 row breaks a rule: .* verify names them\.\n$/)
})

/**
 * Copies the folder, and replaces parts of the select of vouchers.
 *
 * @param edits pairs of the former text and the new text
 */
const withVouchers = (...edits: [former: string, text: string][]) =>
  copyVenues(copy => {
    const file = join(copy, 'voucher.sql')
    const text = edits.reduce((text, [former, other]) => text.replace(former, other), readFileSync(file, 'utf8'))
    writeFileSync(file, text)
  })

const faulty = copyVenues(copy => rmSync(join(copy, 'voucher.from.item.sql')))
const refused = { code: 1, stderr: expect.stringContaining('voucher.from.item.sql') }

test('apply installs no mapping that has an error, and the former mapping stays', async () => {
  expect(await command('apply', faulty)).toMatchObject(refused)
  expect(await hasMappings(platform, readMappings(folder))).toBe(true)
})

test('diff lists the records that would change, check warns about records that would leave, and export restores the former mapping', async () => {
  const { platform, command, install } = await createPlatform()
  await platform`update shop."Gift Card" set deleted_at = now() where "No" = 'C300'`
  await install(folder)
  const changed = withVouchers(
    ['where deleted_at is null', `where "No" not like 'C9%' and (deleted_at is null or "No" = 'C300')`],
    ['code as reference', `case when "No" < 'C2' then 'X' || code else code end as reference`],
  )
  rmSync(join(changed, 'category.sql'))
  expect(await command('diff', changed)).toEqual({
    ...{ code: 0, stderr: '' },
    stdout: expect.stringMatching(
      new RegExp(
        '^voucher: 1 record would appear, first key C300\nvoucher: 111 records would differ, first key C1, in reference\n' +
          'voucher: 11 records would leave, first key C9\\d?\n$',
      ),
    ),
  })
  const problem = expect.stringMatching(/^11 of its records would leave the lists: /)
  const { findings } = await checkMapping(platform, changed, 'public')
  expect(findings).toContainEqual(expect.objectContaining({ file: 'voucher.sql', level: 'warning', problem }))
  expect(await command('diff', faulty)).toMatchObject(refused)

  await install(changed)
  const exported = join(createDirectory(), 'exported')
  const { stdout: written } = await command('export', exported)
  expect(written).toMatch(/\nvoucher\.sql\n[\s\S]*adopt apply .*exported --search-path 'public'\n$/)
  expect(readdirSync(exported)).toEqual(readdirSync(changed))
  expect(await hasMappings(platform, readMappings(exported))).toBe(true)
  expect(await command('export', exported)).toMatchObject({ code: 2, stderr: expect.stringContaining('voucher.sql') })
  expect(await command('diff', exported)).toEqual({ code: 0, stdout: 'No record would change.\n', stderr: '' })
})

test.each(['apply', 'status', 'init mapping'])('%s without DATABASE_URL is refused', async words => {
  const stderr = expect.stringMatching(/^DATABASE_URL (or PLATFORM_URL )?must name the database of the platform/)
  expect(await run(['adopt', ...words.split(' '), ...(words === 'apply' ? [folder] : [])], {})).toEqual({
    code: 2,
    stdout: '',
    stderr,
  })
})

test('check neither needs nor creates the schema, and prints each error with its place', async () => {
  const { platform, adopt } = await createVenuesDatabase()
  const { code, stdout, stderr } = await adopt('check', folder)
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(
    /^Nothing is wrong\.\n[\s\S]*\ngrant select \(.*\) on shop\.venue to .*;\n[\s\S]*0 errors, 0 warnings\n$/,
  )
  expect(await platform`select from pg_namespace where nspname = 'gateway'`).toEqual([])

  const file = 'customer.from.consent.sql'
  const wrong = copyVenues(copy => writeFileSync(join(copy, file), '-- Customers\nselect persn from changed;\n'))
  const refused = await adopt('check', wrong)
  expect(refused.code).toBe(1)
  expect(refused.stdout).toMatch(/^customer\.from\.consent\.sql:2: error: column "persn" does not exist\.\n {2}\S/)
  expect(refused.stdout).toMatch(/\n1 error, 0 warnings\n$/)
  const { findings } = JSON.parse((await adopt('check', wrong, '--json')).stdout)
  expect(findings).toMatchObject([{ file, line: 2, level: 'error' }])
  const nowhere = { code: 1, stderr: expect.stringMatching(/^There is no folder nowhere\./) }
  expect(await adopt('check', 'nowhere')).toMatchObject(nowhere)
})

test('when steps stop before all records are written, apply ends and prints the reason', async () => {
  const large = await createPlatform()
  await large.platform`
    insert into shop."Gift Card" ("No", venue, code, "valueCents") select 'D' || n, ${venue}, 'LARGE-' || n, 5 from generate_series(1, 1001) n`
  await large.install(folder)
  const lacking = withVouchers(['where deleted_at', `where "No" < 'D' and deleted_at`])
  expect(await large.command('apply', lacking)).toEqual({
    ...{ code: 1, stderr: '' },
    stdout: expect.stringMatching(
      /^1,302 records are written, and the others wait\. voucher: 700 of 1301 records .* call gateway\.allow_removals/,
    ),
  })
})

test('apply brings an older schema up to date before it checks', async () => {
  const older = await createPlatform()
  await migrate(older.platform, { adopted: null })
  await older.platform`drop function gateway.find_missing_rules`
  expect(await older.command('apply', faulty)).toMatchObject(refused)
})

test('demo and import are refused for an adopted database', async () => {
  for (const words of [['demo'], ['import', '-', '--table', 'tenant']]) {
    const { code, stderr } = await run(words, { DATABASE_URL: url }, { input: '' })
    expect([code, stderr]).toEqual([1, expect.stringMatching(/^This database serves the tables of a platform\./)])
  }
})

test('status and rejected name each rejected key; verify groups them by reason', async () => {
  await platform`update shop."Gift Card" set currency = left("No", 2) || '1' where "No" in ('C6', 'C7', 'C8')`
  await projected(platform)
  const { stdout } = await command('status')
  expect(stdout).toMatch(/^voucher +300 +4 +follows each change$/m)
  expect(stdout).toMatch(/^voucher C2: reference is empty$/m)
  expect(JSON.parse((await command('status', '--json')).stdout)).toMatchObject({ waiting: 0, rejected: 4 })
  expect((await command('verify')).stdout).toMatch(
    /^voucher: 3 keys rejected: currency is not three capital letters, first keys C6, C7, C8\nvoucher: 1 key rejected: reference is empty, key C2\n/,
  )
  const since = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`
  expect((await command('rejected')).stdout).toMatch(
    new RegExp(`^RECORD +KEY +SINCE +REASON\nvoucher +C2 +${since} +reference .*\nvoucher +C6 +${since} +currency`),
  )
  expect((await command('rejected', '--csv')).stdout).toMatch(
    new RegExp(`^record,key,reason,since\nvoucher,C2,reference is empty,${since}\nvoucher,C6,currency is [^,]*: C61,`),
  )
  await platform`update shop."Gift Card" set currency = 'EUR' where "No" in ('C6', 'C7', 'C8')`
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
  await projected(platform)
  expect(await findRecordProblems(platform)).toMatchObject([{ reason: 'reference is empty' }])
  await platform`insert into shop."Gift Card" ("No", venue, code, "valueCents") values ('C4', ${venue}, 'CODE-4', 5000)`
})

test('verify exits with 1 when steps have not been made for some time', async () => {
  const { platform, url: DATABASE_URL } = await createDatabase()
  await platform`update gateway.step set stamp = stamp - interval '1 minute'`
  const stdout = expect.stringMatching(/^STEPS_LATE: .*\nThe records and figures of .* agree with the sources\.\n$/)
  expect(await run(['verify'], { DATABASE_URL })).toEqual({ code: 1, stdout, stderr: '' })
})

test('the SQL that plan prints has the same result as apply, and apply can be paused', async () => {
  const other = await createPlatform()
  const { stdout } = await command('plan', '--sql', folder)
  await other.platform.unsafe(stdout).simple()
  await other.platform.begin(async sql => {
    await sql`lock table gateway.step_lock in exclusive mode`
    const { child, ended, printed } = start(['adopt', 'apply', folder], { DATABASE_URL: other.url })
    const isWriting = () => platform`
      select from pg_stat_activity
      where datname = ${new URL(other.url).pathname.slice(1)} and query like '%adoption.read_progress%'`
    await expect.poll(isWriting, { timeout: 30_000 }).toHaveLength(1)
    child.kill('SIGINT')
    expect([await ended, printed()]).toEqual([1, expect.stringMatching(/^0 records are written\. The service goes on/)])
  })
  expect(await other.command('apply', folder)).toMatchObject({ code: 0, stdout: '301 records are written.\n' })
})

test('apply succeeds during a transaction on one table, because apply locks the tables one by one', async () => {
  const { platform, command } = await createPlatform()
  await migrate(platform, { adopted: null })
  const applyDuring = (write: string, applied = folder) =>
    platform.begin(async transaction => {
      await transaction.unsafe(write)
      return command('apply', applied, '--wait', '1')
    })
  const refused = { code: 1, stderr: expect.stringContaining('did not get a lock') }
  expect(await applyDuring(`update shop.venue set name = 'Spa'`)).toMatchObject(refused)
  const sale = `update shop."Gift Card" set code = 'X' where "No" = 'C1'`
  expect(await applyDuring(sale)).toMatchObject({ code: 0 })
  // When only a select changes, `apply` needs no lock.
  const changed = withVouchers(['code as reference', 'upper(code) as reference'])
  expect(await applyDuring(sale, changed)).toMatchObject({ code: 0 })
})

test('an import of ids keeps the ids of records, and remove leaves only objects that the platform uses', async () => {
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
