/**
 * Tests the service behind PgBouncer with the configuration of docs/scaling.md: which configurations the service
 * refuses, and which faults it survives.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import postgres from '#postgres'
import { freePort } from '../support/free-port.ts'
import { createPgBouncer, pgBouncerIsAtLeast, type SettingOverrides } from '../support/pgbouncer.ts'
import { refusalOf, run, serve, start } from '../support/process.ts'
import { hold } from './support/hold.ts'
import { startWorld } from './support/start.ts'

const { server, world } = await startWorld('pooled')
const owner = server.open(world.database)
const login = 'gateway_login'
await owner.unsafe(`create role ${login} login in role voucher_gateway`)
const address = { host: '127.0.0.1', port: server.port }
const pooler = createPgBouncer({ server: address, port: await freePort(), login })
const quiet = { RATE_STORE: 'postgres', RATE_LIMIT_PER_MINUTE: '1000000', LOG_LEVEL: 'warn' }
const withoutParameters = { DATABASE_URL: pooler.url(world.database), DATABASE_STARTUP_PARAMETERS: 'off', ...quiet }
const withParameters = { ...withoutParameters, DATABASE_STARTUP_PARAMETERS: 'on' }
afterAll(async () => {
  await owner.end({ timeout: 1 })
  await pooler.remove()
})

/** Runs a command through PgBouncer in a changed configuration. */
async function runBehind(changes: SettingOverrides, environment: NodeJS.ProcessEnv, args = ['serve']) {
  await pooler.start(changes)
  return run(args, environment)
}

const parameters = 'search_path, role, statement_timeout, default_transaction_isolation, jit, work_mem'

type Refusal = [behaviour: string, changes: SettingOverrides, environment: NodeJS.ProcessEnv, reasons: string[]]

const refusals: Refusal[] = [
  [
    'refuses start-up parameters',
    {},
    withParameters,
    ['DATABASE_STARTUP_PARAMETERS=off', 'unsupported startup parameter'],
  ],
  [
    'ignores start-up parameters',
    { connect_query: null, ignore_startup_parameters: parameters },
    withParameters,
    ['search_path is "$user", public and not pg_catalog, pg_temp', 'ignore_startup_parameters'],
  ],
  [
    'sets only the search path',
    { connect_query: 'set search_path = pg_catalog, pg_temp', ignore_startup_parameters: parameters },
    withParameters,
    [`the role is ${login} and not voucher_gateway`, 'ignore_startup_parameters'],
  ],
  ['sets no parameter', { connect_query: null }, withoutParameters, ['connect_query']],
  [
    'keeps no prepared statements',
    { max_prepared_statements: '0' },
    withoutParameters,
    ['Set max_prepared_statements = 500'],
  ],
]

test.each(
  refusals.filter(([what]) => !what.includes('prepared') || pgBouncerIsAtLeast(1, 26)),
)('the service does not start when PgBouncer %s', async (_, changes, environment, reasons) => {
  const refusal = refusalOf(await runBehind(changes, environment))
  for (const reason of reasons) expect(refusal).toContain(reason)
})

describe('commands work', () => {
  test('through PgBouncer, except migrations, which run without it', async () => {
    // With one server connection per database, a command gets the session in the state that the previous command left.
    const listed = await runBehind({ default_pool_size: '1' }, withoutParameters, ['token', 'list', '--json'])
    expect([listed.code, listed.stderr]).toEqual([0, ''])
    expect(JSON.parse(listed.stdout)).toHaveLength(world.owners.length)
    for (const command of ['token create --name New --json', 'admin create --email a@example.com'])
      expect(await run(command.split(' '), withoutParameters)).toMatchObject({ code: 0, stderr: '' })
    await owner.unsafe('create database fresh')
    const direct = { DATABASE_URL: server.url('fresh') }
    expect((await run(['migrate'], direct)).stdout).toContain('applied 0012')
    expect((await run(['demo'], direct)).stdout).toMatch(/^Loaded/)
    const fresh = { ...withoutParameters, DATABASE_URL: pooler.url('fresh') }
    expect(await run(['migrate'], fresh)).toMatchObject({ stdout: 'The database is up to date.\n', stderr: '' })
    expect(await run(['token', 'list', '--json'], fresh)).toMatchObject({ stdout: '[]\n', stderr: '' })
  })

  test.runIf(pgBouncerIsAtLeast(1, 26))('with start-up parameters that PgBouncer tracks', async () => {
    const tracked = { connect_query: null, track_extra_parameters: parameters }
    expect(await runBehind(tracked, withParameters, ['token', 'list', '--json'])).toMatchObject({ code: 0, stderr: '' })
  })

  test.each<SettingOverrides>([
    {},
    { max_prepared_statements: '0', default_pool_size: '1' },
    { pool_mode: 'session' },
  ])('a sync keeps a copy behind PgBouncer, and another one is refused: %j', async changes => {
    const configuration = { connect_query: null, ...changes }
    await pooler.start(configuration)
    const database = `copies_${randomBytes(4).toString('hex')}`
    await owner.unsafe(`create database ${database} owner ${login}`)
    const service = await serve({ DATABASE_URL: server.url(world.database), LOG_LEVEL: 'warn' })
    onTestFinished(async () => void (await service.stop('SIGKILL')))
    const variables = { VOUCHER_GATEWAY_URL: service.origin, VOUCHER_GATEWAY_TOKEN: world.owners[0]!.secret }
    const sync = (...args: string[]) => run(['sync', '--to', pooler.url(database), ...args], variables)
    const watch = start(['sync', '--to', pooler.url(database), '--watch', '1s'], variables)
    await expect.poll(watch.printed).toContain('In step')
    // After an outage the sync takes its lease again, although the lease has not ended.
    await pooler.kill()
    await expect.poll(watch.printed).toContain('until the copy is opened again')
    await pooler.start(configuration)
    const { length } = watch.printed()
    await expect.poll(() => watch.printed().slice(length)).toContain('In step')
    expect(await sync('--status')).toMatchObject({ code: 0, stderr: '' })
    const stderr = expect.stringMatching(/^A process behind a pooler, .* syncs to this copy/)
    const refused = { code: 6, stdout: '', stderr }
    expect(await sync('--quiet')).toEqual(refused)
    const direct = ['sync', '--to', server.url(database), '--quiet']
    expect(await run(direct, variables)).toEqual(refused)
    const sql = server.open(database)
    watch.child.kill('SIGTERM')
    expect(await watch.ended).toBe(0)
    expect(await sync('--verify', '--quiet')).toEqual({ code: 0, stdout: '', stderr: '' })
    // A suspended machine could not extend the lease: the next sync takes over the copy, and the first sync stops.
    const frozen = start(['sync', '--to', pooler.url(database), '--watch', '1s'], variables)
    await expect.poll(frozen.printed).toContain('In step')
    frozen.child.kill('SIGSTOP')
    await sql`update voucher_gateway_copy.sync_lease set ends_at = now()`
    expect(await run(direct, variables)).toEqual({ code: 0, stdout: '', stderr: '' })
    frozen.child.kill('SIGCONT')
    expect(await frozen.ended).toBe(6)
    expect(await sql`select from pg_locks where locktype = 'advisory'`).toHaveLength(0)
    await sql.end()
  })

  test('in session mode', async () => {
    const session = { pool_mode: 'session', server_reset_query: 'deallocate all' }
    for (let time = 0; time < 2; time++)
      expect(await runBehind(session, withoutParameters, ['token', 'list', '--json'])).toMatchObject({
        code: 0,
        stderr: '',
      })
  })
})

test.each<[string, () => Promise<unknown>]>([
  [
    'PgBouncer is killed and started again',
    async () => {
      for (let time = 0; time < 3; time++) {
        await pooler.kill()
        await pause(500)
        await pooler.start()
        await pause(1_000)
      }
    },
  ],
  [
    'PgBouncer is frozen for eight seconds',
    async () => {
      pooler.freeze()
      await pause(8_000)
      pooler.thaw()
    },
  ],
  [
    'the database behind PgBouncer is restarted',
    async () => {
      await server.stop()
      await pause(1_000)
      await server.start()
    },
  ],
])('the service recovers when %s', async (_, fault) => {
  await pooler.start()
  const service = await serve(withoutParameters)
  // A service that still runs would check and close the server connections of the next test.
  onTestFinished(async () => void (await service.stop('SIGKILL')))
  const calls = await hold({ service, world, server: () => server }, async () => void (await fault()))
  expect(calls.some(({ status }) => status === 503)).toBe(true)
  expect(await service.stop('SIGTERM')).toBe(0)
})

test('a server connection that another client has changed is closed, and no statement runs on it', async () => {
  await pooler.start({ default_pool_size: '1' })
  const other = postgres(pooler.url(world.database), { max: 1, fetch_types: false })
  const [before] = await other`select pg_backend_pid() as pid`
  await other.unsafe('set statement_timeout = 0')
  expect(refusalOf(await run(['token', 'list'], withoutParameters))).toContain('statement_timeout is 0')
  const [after] = await other`select pg_backend_pid() as pid, current_setting('statement_timeout') as timeout`
  expect(after).toMatchObject({ timeout: '4s' })
  expect(after?.pid).not.toBe(before?.pid)
  expect((await run(['token', 'list'], withoutParameters)).code).toBe(0)
  await other.end()
})

// PgBouncer does not send Parse again, so the server describes the parameters first and then waits for the lock.
test('a statement that fails while its columns are described can be sent again', async () => {
  await pooler.start({ default_pool_size: '1' })
  const [first, second] = [0, 1].map(() => postgres(pooler.url(world.database), { max: 1, fetch_types: false }))
  const read = (sql = second!) => sql`select count(*)::integer as count from gateway.tenant where id > ${0}`
  const found = await read(first)
  await owner.begin(async sql => {
    await sql`lock table gateway.tenant`
    await expect(read()).rejects.toThrow('statement timeout')
  })
  expect(await read()).toEqual(found)
  await Promise.all([first, second].map(sql => sql?.end()))
})
