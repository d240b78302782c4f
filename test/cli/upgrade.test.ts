/** `migrate` describes an upgrade before it begins, and refuses some upgrades. The releases are fictitious. */
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { createLaterVersion } from '../support/later-version.ts'
import { createLogin } from '../support/login.ts'
import { refusalOf, run } from '../support/process.ts'

const files = readdirSync(join(import.meta.dirname, '../../sql')).filter(name => /^\d/.test(name))
const [first, second, third] = [files.length, files.length + 1, files.length + 2]
const releases = [
  { version: '0.2.0', migration: first, isStop: false },
  { version: '0.3.0', migration: second, isStop: true },
  { version: '0.4.0', migration: third, isStop: false },
]
const index = `00${second}.do.index.sql`
const column = `00${third}.do.column.sql`
const indexes = { [index]: 'create index removal_reason on gateway.removal (reason);' }
/** A version whose release is a stop. `latestVersion` is the version after it. */
const stopVersion = { entry: createLaterVersion({ releases: releases.slice(0, 2), migrations: indexes }) }
const migrations = { ...indexes, [column]: 'alter table gateway.removal add column actor text;' }
const latestVersion = { entry: createLaterVersion({ releases, migrations }) }

const runJson = async (args: string[], environment: NodeJS.ProcessEnv, options = {}) => {
  const { code, stdout, stderr } = await run([...args, '--json'], environment, options)
  expect(stderr).toBe('')
  return { code, ...JSON.parse(stdout) }
}

const skippedReason = {
  code: 'RELEASE_SKIPPED',
  level: 'error',
  message: 'This version does not upgrade the database yet: release 0.3.0 has to run before it.',
  action: expect.stringMatching(/^Install release 0\.3\.0, /),
}

test('an upgrade that skips a stop is refused with the name of that release, and succeeds after that release has run', async () => {
  const { platform, url } = await createDatabase()
  const environment = { DATABASE_URL: url }
  await platform`insert into gateway.removal
    select 'voucher', 1, n, 'deleted', now() + n * interval '1 microsecond' from generate_series(1, 1000) n`
  await platform`analyze gateway.removal`
  const check = (program: { entry: string }) => runJson(['migrate', '--check'], environment, program)

  expect(await check(latestVersion)).toEqual({
    code: 1,
    release: '0.2.0',
    releases: ['0.3.0', '0.4.0'],
    stops: ['0.3.0'],
    missing: [index, column],
    ...{ made: [], locks: [] },
    indexes: { count: 1, bytes: expect.any(Number), seconds: 1 },
    findings: [skippedReason],
  })
  for (const args of [['migrate'], ['migrate', '--dry-run']]) {
    expect(refusalOf(await run(args, environment, latestVersion))).toMatch(
      /^RELEASE_SKIPPED: .* release 0\.3\.0 has to run/,
    )
  }
  expect(await platform`select from gateway.migration`).toHaveLength(first)

  expect(await check(stopVersion)).toMatchObject({ code: 0, stops: [], findings: [] })
  expect(await runJson(['migrate'], environment, stopVersion)).toMatchObject({ code: 0, applied: [index] })
  expect(await check(latestVersion)).toMatchObject({ code: 0, release: '0.3.0', stops: [] })
  expect(await runJson(['migrate'], environment, latestVersion)).toMatchObject({ code: 0, applied: [column] })
  expect(refusalOf(await run(['migrate'], environment, stopVersion))).toMatch(
    new RegExp(`^DATABASE_NEWER: .*: ${column}\\. Install that version`),
  )
})

test('no function depends on the order of columns', async () => {
  const { platform } = await createDatabase()
  const functions = await platform<{ name: string; text: string }[]>`
    select proname as name, pg_get_functiondef(oid) as text from pg_proc where pronamespace = 'gateway'::regnamespace and prokind in ('f', 'p')`
  expect(functions.length).toBeGreaterThan(150)
  const nameless = functions.filter(({ text }) =>
    /insert into [\w.%$]+(?: as \w+)?\s+(?:select|values)\b|insert into [^;]*?\.\*(?!\)::text)/i.test(text),
  )
  expect(nameless.map(({ name }) => name)).toEqual([])
})

test('doctor reports manual changes of the schema, and migrate creates changed functions and views again', async () => {
  const { platform, url } = await createDatabase()
  const environment = { DATABASE_URL: url }
  const readDrift = async () => {
    const { checks } = await runJson(['doctor'], environment)
    const [found] = checks.flatMap(({ reasons }: { reasons: { code: string; message: string }[] }) =>
      reasons.filter(({ code }) => code === 'SCHEMA_CHANGED'),
    )
    return found?.message.replace(/.*: /, '') ?? ''
  }
  expect(await readDrift()).toBe('')
  await platform
    .unsafe(`
      create or replace function gateway.is_late() returns boolean language sql stable return false;
      create or replace view gateway.open_scan as select * from gateway.scan;
      drop function gateway.check_records;
      alter table gateway.scan add column note text`)
    .simple()
  const functions = 'gateway.check_records(integer) (dropped), gateway.is_late() (changed), gateway.open_scan (changed)'
  expect(await readDrift()).toBe(`${functions}, gateway.scan (changed).`)
  const { made } = await runJson(['migrate'], environment)
  expect(made.sort()).toEqual(['check/check_records.sql', 'step/is_late.sql', 'step/open_scan.sql'])
  expect(await readDrift()).toBe('gateway.scan (changed).')
})

test('--status lists the files, with the time at which each was applied', async () => {
  const { url } = await createDatabase()
  const { stdout } = await run(['migrate', '--status'], { DATABASE_URL: url }, latestVersion)
  const rows = stdout.trim().split('\n')
  expect(rows).toHaveLength(third + 1)
  expect(rows[first]).toMatch(new RegExp(`^${files.at(-1)} +\\d{4}-\\d\\d-\\d\\dT`))
  expect(rows[second]).toMatch(new RegExp(`^${index} +missing$`))
  expect((await runJson(['migrate', '--status'], { DATABASE_URL: url })).newer).toEqual([])
})

test('--dry-run prints SQL with the same result as migrate, and prints nothing for an up-to-date database', async () => {
  const { owner: sql, url } = await createEmptyDatabase()
  // A first installation needs no stop.
  const checked = await runJson(['migrate', '--check'], { DATABASE_URL: url }, latestVersion)
  expect(checked).toMatchObject({ code: 0, stops: [], findings: [] })
  const { stdout } = await run(['migrate', '--dry-run'], { DATABASE_URL: url })
  expect(await sql`select from pg_class where relnamespace = to_regnamespace('gateway')`).toHaveLength(0)
  await sql.unsafe(stdout).simple()
  expect(await runJson(['migrate'], { DATABASE_URL: url })).toEqual({ code: 0, applied: [], made: [] })
  expect(await runJson(['migrate', '--dry-run'], { DATABASE_URL: url })).toEqual({ code: 0, statements: [] })
})

test('--check names the missing rights of the login, and the sessions that hold locks', async () => {
  const { address, platform, url } = await createDatabase()
  const { login, url: lowly } = await createLogin(platform, address)
  const { code, findings } = await runJson(['migrate', '--check'], { DATABASE_URL: lowly })
  const forbidden = { code: 'MIGRATION_FORBIDDEN', level: 'error' }
  expect([code, findings]).toMatchObject([
    1,
    [
      { ...forbidden, message: `The login ${login} may not change the schema gateway.` },
      { ...forbidden, action: expect.stringContaining(`run: grant voucher_gateway to ${login};`) },
      { ...forbidden, action: expect.stringContaining(`run: grant voucher_gateway_reader to ${login};`) },
    ],
  ])

  await platform.begin(async transaction => {
    await transaction`lock table gateway.removal in access share mode`
    const [own] = await transaction`select pg_backend_pid() as pid`
    // A transaction is reported when it is older than five seconds.
    const check = () => runJson(['migrate', '--check'], { DATABASE_URL: url })
    const message = expect.stringContaining(`held by backend ${own?.pid} (`)
    const action = expect.stringContaining(`select pg_terminate_backend(${own?.pid});`)
    const findings = [{ code: 'MIGRATION_BLOCKED', level: 'warning', message, action }]
    await expect.poll(check, { timeout: 30_000 }).toMatchObject({ code: 0, findings })
  })
})
