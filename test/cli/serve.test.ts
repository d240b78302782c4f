import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { describeReason, type Reason } from '../../src/reasons.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { listen } from '../support/free-port.ts'
import { refusalOf, run, type Service, serve, start } from '../support/process.ts'
import { until } from '../support/until.ts'

const shared = await createDatabase()
const dataDir = createDirectory()
const environment = { DATA_DIR: dataDir, LOG_LEVEL: 'warn' }

/** Waits until no PostgreSQL server runs on the data directory. */
const untilServerEnds = () =>
  until('the server has ended', () => !existsSync(join(dataDir, 'postgres/postmaster.pid')), 60_000)

const askByCurl = ({ printed }: Service) =>
  JSON.parse(execFileSync('sh', ['-c', `${/^ *(curl .*)$/m.exec(printed())?.[1]} -s`], { encoding: 'utf8' }))

test('stopped as soon as it listens, it has nothing to report', async () => {
  const { url } = await createDatabase()
  const service = await serve({ DATABASE_URL: url, RATE_STORE: 'postgres' })
  expect(await service.stop('SIGTERM')).toBe(0)
  // A busy machine may delay its first checks.
  const [, stop] = service.log().split('"the service stops"')
  expect(stop).not.toMatch(/"level":[456]0/)
  expect(stop).toContain('"the service has stopped"')
})

test('on an embedded database it starts with demo data and a working curl line, keeps both at restarts, and recovers from SIGKILL', async () => {
  const first = await serve({ ...environment, LOG_LEVEL: 'info' })
  for (const page of [/Docs +(http\S+)/, /Dashboard +(http\S+)/])
    expect((await fetch(page.exec(first.printed())?.[1] ?? '')).status).toBe(200)
  const token = /Token +(vgw_\w+)/.exec(first.printed())?.[1]
  const answer = askByCurl(first)
  expect(answer.data.length).toBeGreaterThan(5)
  const counted = await first.list(token ?? '')
  // A view of the dashboard counts as some 25 operations.
  expect(Number(counted.headers.get('ratelimit-limit'))).toBeGreaterThanOrEqual(1000)
  expect(await first.stop('SIGTERM')).toBe(0)
  expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false)

  const second = await serve(environment)
  expect(second.printed()).not.toContain('Loading demo data')
  expect(/Token +(vgw_\w+)/.exec(second.printed())?.[1]).toBe(token)
  expect(askByCurl(second).data).toEqual(answer.data)

  await second.stop('SIGKILL')
  await untilServerEnds()

  const third = await serve(environment)
  expect(askByCurl(third).data).toEqual(answer.data)

  expect(await third.stop('SIGINT')).toBe(0)
})

test('an empty database of DATABASE_URL is rejected with the command that migrates it, and gets no demo data', async () => {
  const { url: DATABASE_URL } = await createEmptyDatabase()
  expect(refusalOf(await run(['serve'], { DATABASE_URL }))).toContain('node main.js migrate')

  const migrated = await run(['migrate'], { DATABASE_URL })
  expect(migrated.code, migrated.stderr).toBe(0)
  expect(migrated.stdout).toContain('0001')
  expect((await run(['migrate'], { DATABASE_URL })).stdout).toContain('up to date')

  const service = await serve({ DATABASE_URL, LOG_LEVEL: 'warn' })
  expect(service.printed()).not.toContain('Token')
  await expect.poll(service.ready, { timeout: 30_000 }).toMatchObject({ status: 200 })
  expect(await service.stop('SIGTERM')).toBe(0)
})

test('a signal ends a service that does not listen yet', async () => {
  const silent = createServer()
  const DATABASE_URL = `postgres://nobody@127.0.0.1:${await listen(silent)}/silent`
  const { child, ended } = start(['serve'], { DATABASE_URL })
  await once(silent, 'connection')
  child.kill('SIGTERM')
  // Otherwise it would end with 1, when the database has not answered for 4 s.
  expect(await ended).toBe(0)
})

test('reports all configuration errors in one message, without secrets', async () => {
  const settings = { PORT: 'abc', RATE_LIMIT_PER_MINUTE: '0', TRUST_PROXY: '1.2.3.4/99', RATE_STORE: 'memory' }
  const secrets = { CURSOR_KEY: '5ec4e7'.repeat(9), OIDC_CLIENT_SECRET: '5ec4e7' }
  const DATABASE_URL = 'postgres://ann:5ec4e7@localhost/shop'
  const rejected = await run(['serve', '--workers', '2'], { DATABASE_URL, ...settings, ...secrets })
  expect(rejected.code).toBe(1)
  for (const name of Object.keys(settings)) expect(rejected.stderr).toContain(`CONFIG_INVALID: ${name}`)
  const { level, err } = JSON.parse(rejected.stdout)
  const reasons: Reason[] = err.reasons
  expect([level, reasons.map(describeReason).join('\n')]).toEqual([60, rejected.stderr.trim()])
  expect(rejected.stdout + rejected.stderr).not.toContain('5ec4e7')
})

test('--version prints the version of package.json, even with an invalid .env', async () => {
  const cwd = createDirectory()
  writeFileSync(join(cwd, '.env'), 'invalid')
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  for (const flag of ['--version', '-V']) {
    expect(await run([flag], {}, { cwd })).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  }
})

test.each<[command: string, meant?: string]>([
  ['tokn list', 'token'],
  ['token lst', 'list'],
  ['token list --jsn', '--json'],
  ...[
    ...['serve --fast', 'demo --scale 0', 'migrate --wait long', 'webhook replay 1 --from yesterday'],
    ...['admin create', 'admin create --email nobody', 'admin remove', 'admin remove nobody', 'admin nothing'],
    ...['token create', 'token create --name x --permission everything', 'token create --name x --tenant one'],
    ...['token create --name x --expires-in soon', 'token create --name x --rate-limit 1000001'],
    ...['token edit 1 --permission everything', 'token revoke first', 'token rotate 1 --overlap 7w'],
    ...['sync --to copy --watch 0s', 'sync --to copy --watch 25h', 'listen', 'listen --forward-to ftp://x'],
    ...['listen --forward-to http://localhost:1 --secret whsec_short', 'import', 'import -'],
    ...['import . --csv-delimiter "', 'import . --date-format dd/MM/yy'],
    ...['import . --date-format dMyyyy', 'import . --table tenant', 'import - --table tenants'],
  ].map((command): [string] => [command]),
])('an invalid argument gives one line, a suggestion if there is one, and exit code 2: %s', async (command, meant) => {
  const { code, stderr } = await run(command.split(' '), { DATABASE_URL: shared.url })
  expect([code, ...stderr.trim().split('\n').slice(1)]).toEqual([2, ...(meant ? [`(Did you mean ${meant}?)`] : [])])
})
