import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { VoucherGateway } from '../../packages/client/src/index.ts'
import { describeReason, type Reason } from '../../src/reasons.ts'
import { createTestToken, whole } from '../support/builders.ts'
import { createDatabase, createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { listen } from '../support/free-port.ts'
import { clockBy, refusalOf, run, type Service, serve, start } from '../support/process.ts'
import { until } from '../support/until.ts'

const sharedDatabase = await createDatabase()
const dataDir = createDirectory()
const environment = { DATA_DIR: dataDir, LOG_LEVEL: 'warn' }

const askByCurl = ({ printed }: Service) =>
  JSON.parse(execFileSync('sh', ['-c', `${/^ *(curl .*)$/m.exec(printed())?.[1]} -s`], { encoding: 'utf8' }))

test('a service that is stopped as soon as it listens logs no warning', async () => {
  const { url } = await createDatabase()
  const service = await serve({ DATABASE_URL: url, RATE_STORE: 'postgres' })
  expect(await service.stop('SIGTERM')).toBe(0)
  // Only the log after the stop counts, because a busy machine may delay the first checks.
  const [, stop] = service.log().split('"the service stops"')
  expect(stop).not.toMatch(/"level":[456]0/)
  expect(stop).toContain('"the service has stopped"')
})

test('on an embedded database the service starts with demo data and a working curl line, keeps both at restarts, and recovers from SIGKILL', async () => {
  const first = await serve({ ...environment, LOG_LEVEL: 'info' })
  for (const page of [/Docs +(http\S+)/, /Dashboard +(http\S+)/])
    expect((await fetch(page.exec(first.printed())?.[1] ?? '')).status).toBe(200)
  const token = /Token +(vgw_\w+)/.exec(first.printed())?.[1]
  const answer = askByCurl(first)
  expect(answer.data.length).toBeGreaterThan(5)
  const counted = await first.list(token ?? '')
  // A view of the dashboard counts as about 25 operations, so the demo needs a high rate.
  expect(Number(counted.headers.get('ratelimit-limit'))).toBeGreaterThanOrEqual(1000)
  expect(await first.stop('SIGTERM')).toBe(0)
  expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false)

  const second = await serve(environment)
  expect(second.printed()).not.toContain('Loading demo data')
  expect(/Token +(vgw_\w+)/.exec(second.printed())?.[1]).toBe(token)
  expect(askByCurl(second).data).toEqual(answer.data)

  await second.stop('SIGKILL')
  await until('the server has ended', () => !existsSync(join(dataDir, 'postgres/postmaster.pid')), 60_000)

  const third = await serve(environment)
  expect(askByCurl(third).data).toEqual(answer.data)

  expect(await third.stop('SIGINT')).toBe(0)
})

test('an empty database at DATABASE_URL is rejected with the command that migrates the database, and gets no demo data', async () => {
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

test('a second signal ends a service that still waits for load balancers', async () => {
  const service = await serve({ DATABASE_URL: sharedDatabase.url, SHUTDOWN_DELAY: '60' })
  service.child.kill('SIGTERM')
  await until('it stops', () => service.log().includes('the service stops'))
  expect(await service.stop('SIGINT')).toBe(1)
})

test('a signal ends a service that does not yet listen', async () => {
  const silent = createServer()
  const DATABASE_URL = `postgres://nobody@127.0.0.1:${await listen(silent)}/silent`
  const { child, ended } = start(['serve'], { DATABASE_URL })
  await once(silent, 'connection')
  child.kill('SIGTERM')
  // Without the signal, the service would end with 1 after the database has not answered for 4 s.
  expect(await ended).toBe(0)
})

test('one message has all configuration errors, without secrets', async () => {
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
  const { code, stderr } = await run(command.split(' '), { DATABASE_URL: sharedDatabase.url })
  expect([code, ...stderr.trim().split('\n').slice(1)]).toEqual([2, ...(meant ? [`(Did you mean ${meant}?)`] : [])])
})

test.each([
  [[''], ['serve', 'migrate', 'token', 'sync', 'adopt', 'verify', 'help']],
  [['token', 'create', '--perm'], ['--permission']],
])('the completion prints one candidate per line: %j', async (words, wanted) => {
  const { code, stdout } = await run(['complete', '--', ...words], {})
  const names = stdout.split('\n').map(line => line.split('\t')[0])
  expect([code, names]).toEqual([0, expect.arrayContaining(wanted)])
  expect(new Set(names).size).toBe(names.length)
})

test('the completion command prints the script of each supported shell', async () => {
  expect((await run(['complete', 'bash'], {})).stdout).toContain('bash completion for voucher-gateway')
})

test('serve --live changes vouchers and consents, and stops with the service', async () => {
  const service = await serve({ DATA_DIR: createDirectory(), LOG_LEVEL: 'warn' }, { args: ['--live'] })
  const token = /Token +(vgw_\w+)/.exec(service.printed())?.[1] ?? ''
  const client = new VoucherGateway({ url: service.origin, token })
  const { serverTime: start } = await client.changes()
  const kinds = ['purchased-vouchers', 'marketing-signups'] as const
  const hasAll = async () => {
    const { lists } = await client.changes({ after: start })
    return kinds.every(kind => lists.some(({ list }) => list === kind))
  }
  // The limit is 100 s, because the client waits when the rate of the token is used up.
  await until('a change of each kind', hasAll, 100_000)
  expect(await service.stop('SIGTERM')).toBe(0)
  expect(service.log()).not.toMatch(/"level":[56]0/)
  expect(service.printed()).not.toContain('The live demo cannot write')
})

test('serve --live is refused without the demo', async () => {
  expect(refusalOf(await run(['serve', '--live'], { DATABASE_URL: sharedDatabase.url }))).toContain(
    'without DATABASE_URL',
  )
})

const dayMs = 86_400_000
await sharedDatabase.platform`insert into public.tenant (id, name) values (1, 'Shop')`
const tokenUntilTomorrow = await createTestToken(sharedDatabase.pool, [whole(1)], {
  expiresAt: new Date(Date.now() + dayMs),
})
const tokenUntilYesterday = await createTestToken(sharedDatabase.pool, [whole(1)], {
  expiresAt: new Date(Date.now() + dayMs),
})
await sharedDatabase.platform`
  update gateway.token set created_at = now() - interval '2 days', expires_at = now() - interval '1 day' where id = ${tokenUntilYesterday.id}`

test.each([
  ['ahead of', 3 * dayMs],
  ['behind', -3 * dayMs],
])('when the clock of an instance is three days %s the database, tokens expire by the clock of the database, and the difference is reported', async (direction, by) => {
  const service = await serve({ DATABASE_URL: sharedDatabase.url }, { preload: clockBy(by) })
  const answers = await Promise.all([tokenUntilTomorrow, tokenUntilYesterday].map(({ secret }) => service.list(secret)))
  expect(answers.map(({ status }) => status)).toEqual([200, 401])
  const readiness = async () => {
    const { status, body } = await service.ready()
    return [status, JSON.parse(body).reasons]
  }
  const message = expect.stringContaining(`s ${direction} the database`)
  await expect.poll(readiness).toMatchObject([200, [{ code: 'CLOCK_DIFFERS', level: 'warning', message }]])
  await until('the log names it', () => service.log().includes('CLOCK_DIFFERS'))
  await service.stop('SIGTERM')
})
