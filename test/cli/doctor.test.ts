/**
 * Runs the command doctor against real faults. It must name each fault, and the statements that it prints must repair
 * the fault.
 */
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { addressUrl, connect, serviceRole } from '../../src/db/connection/connect.ts'
import { findExcessRights } from '../../src/db/connection/rights.ts'
import { migrate } from '../../src/db/migration/migrate.ts'
import type { Check } from '../../src/doctor/judge.ts'
import { checkOpenId } from '../../src/doctor/openid.ts'
import { openIdCallbackPath } from '../../src/http/paths.ts'
import { makeStep } from '../../src/projection/step.ts'
import { startProvider } from '../admin/provider.ts'
import { startBlackHole } from '../support/black-hole.ts'
import { createTestToken } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { startServer } from '../support/embedded-postgres.ts'
import { freePort } from '../support/free-port.ts'
import { createLogin } from '../support/login.ts'
import { startPackaged } from '../support/packaged-postgres.ts'
import { createPgBouncer } from '../support/pgbouncer.ts'
import { run, serve } from '../support/process.ts'
import { projected } from '../support/projected.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'

const publicUrl = { PUBLIC_URL: 'https://gateway.example.com' }

/**
 * Runs the command.
 *
 * @returns the exit code, the checks, and the reasons in their order. Two reasons are left out: the superuser of most
 *   tests, and late steps, because no service makes steps here and a slow machine delays the command
 */
async function runDoctor(environment: NodeJS.ProcessEnv, ...options: string[]) {
  if (!environment.DATABASE_REPLICA_URLS) await makeOneStep(environment.DATABASE_URL)
  const { code, stdout, stderr } = await run(['doctor', '--json', ...options], { ...publicUrl, ...environment })
  expect(stderr).toBe('')
  const { checks }: { checks: Check[] } = JSON.parse(stdout)
  const reasons = checks.flatMap(check => check.reasons)
  const others = reasons.filter(
    ({ code, message }) => code !== 'STEPS_LATE' && !message.includes('login postgres has more rights'),
  )
  return { code, checks, reasons: others, codes: others.map(reason => reason.code) }
}

/**
 * Makes a step, because no service does and the last step of the template may be old. Errors are ignored, because some
 * tests name a server that is down.
 */
async function makeOneStep(url = ''): Promise<void> {
  if (!URL.canParse(url)) return
  const sql = connect(url, { max: 1, statementTimeoutMs: 5_000, connectTimeoutMs: 500, role: serviceRole })
  await makeStep(sql).catch(() => {})
  await sql.end({ timeout: 0 })
}

/** Creates the schema and the first records on a server. @returns a connection pool of the owner */
async function createMigratedPool(server: Awaited<ReturnType<typeof startServer>>) {
  afterFile(() => server.stop())
  const owner = connect(server, { max: 1, statementTimeoutMs: 60_000 })
  onTestFinished(() => owner.end({ timeout: 1 }))
  await migrate(owner)
  await projected(owner)
  return owner
}

/** Returns the SQL statements at the end of actions. */
const findStatements = (actions: string[]) =>
  actions.flatMap(
    action => /: ((?:alter|call|drop|grant|reindex|revoke|rollback|select|vacuum) .*;)$/.exec(action)?.[1] ?? [],
  )

/** The database of all tests that change only logins. */
const sharedDatabase = await createDatabase()

/**
 * Statements that cause a fault, each with the codes of its reasons. A statement in the action of each reason repairs
 * the fault.
 */
const faults: [codes: string[], statements: string[], fromVersion?: number][] = [
  [['CAPTURE_MISSING'], ['alter table public.product disable trigger capture_row']],
  [['GRANT_MISSING'], ['revoke update (requests) on gateway.request_count from voucher_gateway']],
  [['GRANT_MISSING'], ['revoke execute on function gateway.report_server_change() from voucher_gateway']],
  [['RIGHTS_FOREIGN'], ['create role shop', 'grant select on gateway.token to shop']],
  [['SCHEMA_OPEN'], ['grant create on schema public to shop']],
  // An interrupted build leaves an index in this state.
  [['INDEX_INVALID'], [`update pg_index set indisvalid = false where indexrelid = 'gateway.voucher_list'::regclass`]],
  [
    ['INDEX_BLOATED'],
    [
      `insert into gateway.rejected (record, key, reason)
       select 'voucher', n || (select string_agg(md5(random()::text || n || part), '') from generate_series(1, 32) part), '' from generate_series(1, 20000) n`,
      'delete from gateway.rejected',
      'select pg_stat_force_next_flush()',
      'vacuum gateway.rejected',
    ],
  ],
  [['SLOT_UNUSED'], [`select pg_create_physical_replication_slot('forgotten', true)`]],
  [
    ['TABLE_NOT_VACUUMED', 'DEAD_ROWS'],
    [
      'alter table gateway.waiting_key set (autovacuum_enabled = off)',
      `insert into gateway.waiting_key (record, key) select 'voucher', n::text from generate_series(1, 20000) n`,
      'delete from gateway.waiting_key',
    ],
  ],
  [['TRANSACTION_TIMEOUT'], [`alter role postgres set transaction_timeout = '1h'`], 17],
  [['TRANSACTION_PREPARED'], ['begin; select pg_current_xact_id()', `prepare transaction 'forgotten'`]],
]

describe.each([
  { version: 18, start: startServer },
  { version: 15, start: startPackaged },
])('on PostgreSQL $version', ({ version, start }) => {
  test('doctor names each fault, and the statement in its action repairs the fault', async () => {
    const server = await start({ max_prepared_transactions: '2' })
    const owner = await createMigratedPool(server)
    const environment = { DATABASE_URL: addressUrl(server) }
    const sound = await run(['doctor'], { ...publicUrl, ...environment })
    const stdout = expect.stringMatching(/^(ok +\w+\n|warning +login: .*\n)+$/)
    expect(sound).toMatchObject({ code: 0, stderr: '', stdout })

    const present = faults.filter(([, , from = 0]) => version >= from)
    for (const [, statements] of present) for (const statement of statements) await owner.unsafe(statement)
    await owner.unsafe(`create role batch login; create role viewer login in role voucher_gateway`).simple()
    const other = connect({ ...server, user: 'batch' }, { max: 1, statementTimeoutMs: 0 })
    onTestFinished(() => other.end({ timeout: 0 }))
    await other.unsafe('begin isolation level repeatable read; select 1').simple()
    await owner`select pg_stat_force_next_flush()`

    const found = await runDoctor(environment, '--open-for', '0')
    const expected = [...present.flatMap(([codes]) => codes), 'TRANSACTION_OPEN']
    expect(found.codes.sort()).toEqual(expected.sort())
    expect(found.code).toBe(1)
    const message = expect.stringMatching(/^Backend \d+, login batch, database postgres, .* is open since \d{4}-/)
    expect(found.reasons).toContainEqual(expect.objectContaining({ code: 'TRANSACTION_OPEN', message }))
    // The actions on transactions run first, because no index can be built again while other transactions are open.
    const ordered = found.reasons.sort(
      (a, b) => Number(b.code.startsWith('TRANSACTION_')) - Number(a.code.startsWith('TRANSACTION_')),
    )
    const statements = findStatements(ordered.map(({ action }) => action))
    expect(statements).toHaveLength(expected.length)
    for (const statement of statements) await owner.unsafe(statement)
    await owner`select pg_stat_force_next_flush()`
    expect(await runDoctor(environment, '--open-for', '0')).toMatchObject({ code: 0, codes: [] })

    const viewer = { DATABASE_URL: addressUrl({ ...server, user: 'viewer' }) }
    const hidden = await runDoctor(viewer)
    expect(hidden).toMatchObject({ code: 0, codes: ['SESSIONS_HIDDEN'] })
    for (const statement of findStatements(hidden.reasons.map(({ action }) => action))) await owner.unsafe(statement)
    expect((await runDoctor(viewer)).codes).toEqual([])
  })
})

const serviceRoles = 'in role voucher_gateway, pg_read_all_stats'

test.each([
  ['superuser', 'is a superuser'],
  ['createrole replication bypassrls', 'may create roles, may replicate, passes row level security'],
  ['in role pg_write_all_data', 'is a member of pg_write_all_data'],
])('a login "%s" is reported because it has more rights than the service needs', async (options, rights) => {
  const { login, url } = await createLogin(sharedDatabase.platform, sharedDatabase.address, options)
  const sql = connect(url, { max: 1, statementTimeoutMs: 10_000 })
  const message = `The service's login ${login} has more rights than it needs: it ${rights}.`
  expect(await findExcessRights(sql, false)).toMatchObject([{ code: 'LOGIN_TOO_STRONG', level: 'warning', message }])
  await sql.end()
})

test('doctor and the service report a login that owns the schema, but not with PLATFORM_URL', async () => {
  const database = await createDatabase()
  const { login, url } = await createLogin(database.platform, database.address, serviceRoles)
  const environment = { DATABASE_URL: url }
  await database.platform.unsafe(`alter schema gateway owner to ${login}`)
  const message = expect.stringContaining('owns the schema gateway.')
  expect(await runDoctor(environment)).toMatchObject({ code: 0, reasons: [{ code: 'LOGIN_TOO_STRONG', message }] })
  expect((await runDoctor({ ...environment, PLATFORM_URL: database.url })).codes).toEqual([])
  const service = await serve(environment)
  await until('the start is judged', () => service.log().includes('LOGIN_TOO_STRONG'))
  await service.stop('SIGTERM')
})

test('doctor names the session that locks a table and the sessions that wait, even when its checks must wait too', async () => {
  const find = async (table: string) => {
    const { platform, url } = await createDatabase()
    await platform.begin(async transaction => {
      await transaction.unsafe(`lock table ${table}`)
      const [own] = await transaction<[{ pid: number }]>`select pg_backend_pid() as pid`
      const waiting = platform.unsafe(`select count(*) from ${table}`).execute()
      waiting.catch(() => {})
      // A transaction is reported when it is older than five seconds.
      await platform`select pg_sleep(5.1)`
      const { code, codes, reasons } = await runDoctor({ DATABASE_URL: url })
      expect([code, codes]).toEqual([1, ['TABLE_LOCKED']])
      expect(reasons[0]?.message).toMatch(
        new RegExp(`${table.split('.')[1]}.* by backend ${own.pid} \\(.*Behind it wait: backend \\d+`),
      )
      expect(findStatements(reasons.map(({ action }) => action))).toEqual([`select pg_terminate_backend(${own.pid});`])
    })
  }
  await Promise.all(['public.purchased_voucher', 'gateway.migration'].map(find))
})

test('doctor reports rejected keys by reason, paused webhooks and a local issuer, and the bundle contains no text of rows', async () => {
  const { platform, pool, url } = await createDatabase()
  await platform`
    insert into gateway.rejected (record, key, reason)
    select 'voucher'::gateway.record_type, n::text, case when n < 15 then 'value "SECRET" is out of range' else 'reference is empty' end from generate_series(10, 30) n
    union all select 'customer', 'ann@example.com', 'name is empty'`
  const { id } = await createTestToken(pool, [])
  await platform`
    insert into gateway.webhook_endpoint (token_id, url, created_by, starts_at, delivered_to, epoch, paused_at, pause_reason)
    select ${id}, 'https://partner.example.com/' || reason, 'test', now(), now(), 1, '2026-01-31 09:30Z', reason
    from unnest('{failing,administrator}'::text[]) reason`
  const bundle = join(createDirectory(), 'bundle.json')
  const { code, reasons } = await runDoctor({ DATABASE_URL: url, PUBLIC_URL: '' }, '--bundle', bundle)
  const text = readFileSync(bundle, 'utf8')
  expect(text).not.toContain('ann@example.com')
  for (const keys of ['sha256:71d4f55f.', '10, 11, 12, 13, 14.']) expect(text).toContain(`Keys: ${keys}`)
  const messagesOf = (wanted: string) => reasons.flatMap(reason => (reason.code === wanted ? [reason.message] : []))
  expect(code).toBe(0)
  expect(messagesOf('KEYS_REJECTED')).toEqual([
    'v1 cannot show 16 rows of the type voucher: reference is empty. Keys: 15, 16, 17, 18, 19, 20, 21, 22, 23, 24.',
    'v1 cannot show 5 rows of the type voucher: value "…" is out of range. Keys: 10, 11, 12, 13, 14.',
    'v1 cannot show 1 rows of the type customer: name is empty. Keys: ann@example.com.',
  ])
  expect(messagesOf('WEBHOOK_PAUSED')).toEqual([
    `Webhook 1 of token ${id} is paused since 2026-01-31 09:30, after five days without a success.`,
  ])
  expect(messagesOf('PUBLIC_URL_MISSING')).toEqual([expect.stringContaining('the issuer http://localhost:8080,')])
})

test('a problem that prevents the start of the service is one reason, with exit code 1', async () => {
  const unreachable = await runDoctor({ DATABASE_URL: 'postgres://ann:s3cret@127.0.0.1:1/shop' })
  const checks = [{ name: 'start', level: 'error' }]
  expect(unreachable).toMatchObject({ code: 1, codes: ['DATABASE_UNREACHABLE'], checks })
  const codes = ['CONFIG_INVALID', 'CONFIG_INVALID']
  expect(await runDoctor({ PORT: 'x', LOG_LEVEL: 'loud' })).toMatchObject({ code: 1, codes })
  const cwd = createDirectory()
  writeFileSync(join(cwd, '.env'), 'PORT=8080\nNOPE=1\nno assignment\n')
  const { stdout } = await run(['doctor', '--json'], {}, { cwd })
  const reasons = JSON.parse(stdout).checks.flatMap((check: Check) => check.reasons)
  expect(reasons).toMatchObject([{ code: 'ENV_FILE_INVALID' }, { code: 'CONFIG_UNKNOWN' }])
})

test('the mode of PgBouncer', async () => {
  const { address, platform } = await createDatabase()
  const { login } = await createLogin(platform, address, serviceRoles)
  const pooler = createPgBouncer({ server: address, port: await freePort(), login })
  onTestFinished(() => pooler.remove())
  const environment = { DATABASE_URL: pooler.url(address.database), DATABASE_STARTUP_PARAMETERS: 'off' }
  await pooler.start({ pool_mode: 'statement' })
  expect(await runDoctor(environment)).toMatchObject({ code: 1, codes: ['PGBOUNCER_STATEMENT_MODE'] })
  await pooler.start()
  await projected(platform)
  expect(await runDoctor(environment)).toMatchObject({ code: 0, codes: [] })
})

test('doctor reports a Redis that may delete rates, and a Redis that does not answer', async () => {
  const { url } = await createDatabase()
  const redis = await startRedis()
  const client = new Redis(redis.url, { retryStrategy: null }).on('error', () => {})
  onTestFinished(() => client.disconnect())
  const environment = { DATABASE_URL: url, REDIS_URL: redis.url }
  expect(await runDoctor(environment)).toMatchObject({ code: 0, codes: [] })
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  const { code, codes, reasons } = await runDoctor(environment)
  expect([code, codes]).toEqual([0, ['REDIS_EVICTS']])
  const [name = '', ...words] = /: (config set .*)$/.exec(reasons[0]?.action ?? '')?.[1]?.split(' ') ?? []
  await client.call(name, ...words)
  expect((await runDoctor(environment)).codes).toEqual([])
  await redis.kill()
  expect(await runDoctor(environment)).toMatchObject({ code: 0, codes: ['REDIS_UNREACHABLE'] })
})

test('doctor reports an OpenID provider that would refuse all sign-ins', async () => {
  const origin = 'https://gateway.example.com'
  const provider = await startProvider([`${origin}/admin/login/callback`])
  const settings = { PUBLIC_URL: origin, OIDC_DOMAINS: 'example.com', ...provider.environment }
  const find = async (change: NodeJS.ProcessEnv) => {
    const reasons = await checkOpenId(readConfig({ ...settings, ...change }), openIdCallbackPath)
    return reasons.map(({ message, action }) => `${message} ${action}`)
  }
  expect(await find({})).toEqual([])
  const refusal = /refuses all sign-ins: it refuses the client\. Correct OIDC_CLIENT_ID/
  expect(await find({ OIDC_CLIENT_SECRET: 'a former secret' })).toEqual([expect.stringMatching(refusal)])
  const address = /refuses the redirect address https:\/\/other\.example\/admin\/login\/callback \(status 400\)/
  expect(await find({ PUBLIC_URL: 'https://other.example' })).toEqual([expect.stringMatching(address)])
  provider.answer('/jwks', () => ({ keys: [] }))
  expect(await find({})).toEqual([expect.stringContaining('it signs no ID tokens with a published key')])
  provider.answer('/.well-known/openid-configuration', () => 404)
  expect(await find({})).toEqual([expect.stringContaining('cannot be asked: status 404')])
})

test('doctor reports a standby of another cluster, and within seconds each server on a host that drops packets', async () => {
  const { pool, url } = await createDatabase()
  const server = await startServer({})
  const owner = await createMigratedPool(server)
  await projected(pool)
  // This database takes no writes, and has the step of the primary, like a standby.
  const [step] = await pool<[{ epoch: number; stamp: string }]>`
    select epoch, (select max(stamp) from gateway.step) as stamp from gateway.sync_state`
  await owner.unsafe(`
    update gateway.sync_state set epoch = ${step.epoch};
    insert into gateway.step select (jsonb_populate_record(step, '{"stamp": "${step.stamp}"}')).* from gateway.step
    order by stamp desc limit 1 on conflict do nothing;
    alter database postgres set default_transaction_read_only = on`)
  const port = await startBlackHole()
  const away = `postgres://postgres@127.0.0.1:${port}/shop`
  const others = { DATABASE_REPLICA_URLS: `${addressUrl(server)},${away}`, PLATFORM_URL: away }
  const began = performance.now()
  const REDIS_URL = `redis://127.0.0.1:${port}/0`
  const codes = ['REDIS_UNREACHABLE', 'STANDBY_REPLACED', 'STANDBY_UNREACHABLE', 'PLATFORM_UNREACHABLE']
  expect(await runDoctor({ DATABASE_URL: url, REDIS_URL, ...others })).toMatchObject({ code: 1, codes })
  expect((await runDoctor({ DATABASE_URL: away })).codes).toEqual(['DATABASE_UNREACHABLE'])
  expect(performance.now() - began).toBeLessThan(30_000)
})

test('the bundle has settings, versions, checks and counts, but no secret', async () => {
  const { url } = await createDatabase()
  const created = await run(['token', 'create', '--name', 'Shop', '--json'], { DATABASE_URL: url })
  const directory = createDirectory()
  const [bundle, log] = [join(directory, 'bundle.json'), join(directory, 'log')]
  const secrets = { CURSOR_KEY: 'c0'.repeat(32), OIDC_CLIENT_SECRET: 'top "secret"', PGPASSWORD: 'h1dden' }
  const environment = {
    ...secrets,
    DATABASE_URL: url.replace('@', ':s3cr%2Ft@'),
    PLATFORM_URL: 'postgres://ann:pl4tform@127.0.0.1:1/shop',
    DATABASE_REPLICA_URLS: 'postgres://ann:f1rst@127.0.0.1:1/shop,postgres://ann:s3cond@127.0.0.1:1/shop',
    REDIS_URL: 'redis://:r3dis@127.0.0.1:1/0',
    ...{ OIDC_ISSUER: 'https://login.example.com', OIDC_CLIENT_ID: 'gateway', OIDC_DOMAINS: 'example.com' },
    ...{ PUBLIC_URL: 'https://gateway.example.com', MAX_REQUESTS: '40' },
  }
  const { token } = JSON.parse(created.stdout)
  const demoLines = `Token ${token} http://localhost/admin/setup/0ne-time redis://x:f0reign@other/0 http://localhost:80/@`
  const secretLines = Array.from({ length: 499 }, (_, n) => `${n} s3cr/t s3cond top "secret"`)
  writeFileSync(log, ['{"msg":"old"}', ...secretLines, demoLines].join('\n'))
  const { codes } = await runDoctor(environment, '--bundle', bundle, '--log', log)
  expect(codes).toContain('OPENID_UNREACHABLE')
  expect(statSync(bundle).mode & 0o777).toBe(0o600)
  const text = readFileSync(bundle, 'utf8')
  const content = JSON.parse(text)
  expect(content).toMatchObject({
    versions: { node: process.version, service: expect.stringMatching(/^\d/) },
    configuration: { MAX_REQUESTS: '40', DATABASE_URL: '(set)', CURSOR_KEY: '(set)', OIDC_DOMAINS: 'example.com' },
    server: { version: expect.stringMatching(/^\d+\.\d/) },
    tables: expect.arrayContaining([expect.objectContaining({ relname: 'voucher' })]),
    log: expect.arrayContaining(['498 … … …', expect.stringContaining('http://localhost:80/@')]),
  })
  expect([content.checks.length, content.log.length]).toEqual([25, 500])
  const parts = ['s3cr/t', 's3cr%2Ft', 'pl4tform', 'r3dis', 'f1rst', 's3cond', '0ne-time', 'f0reign']
  const hidden = [...Object.values(secrets), token, ...parts]
  for (const secret of hidden) expect(text.replaceAll('\\"', '"')).not.toContain(secret)

  // Without a database, the bundle has all facts that need no database.
  const away = { ...environment, DATABASE_URL: 'postgres://ann:s3cr%2Ft@127.0.0.1:1/shop' }
  const { code } = await runDoctor(away, '--bundle', bundle)
  const rest = readFileSync(bundle, 'utf8')
  expect([code, JSON.parse(rest).checks.length]).toEqual([1, 1])
  for (const secret of hidden) expect(rest).not.toContain(secret)
})
