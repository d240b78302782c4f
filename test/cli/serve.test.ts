import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import postgres from '#postgres'
import { createDatabase } from '../support/database.ts'
import { commandProcess, createDataDirectory, run, serve } from '../support/process.ts'
import { until } from '../support/until.ts'

const dataDir = createDataDirectory()
const environment = { DATA_DIR: dataDir, LOG_LEVEL: 'warn' }

/** Waits until no PostgreSQL server runs on the data directory. */
const untilServerEnds = () =>
  until('the server of the data directory has ended', () => !existsSync(join(dataDir, 'postgres/postmaster.pid')))

const curlLine = (printed: string) => /^ *(curl .*)$/m.exec(printed)?.[1] ?? ''

describe('on an embedded database', { timeout: 120_000 }, () => {
  test('starts with demo data and a working curl line, keeps both at restarts, and recovers from SIGKILL', async () => {
    const first = await serve(environment)
    expect(first.printed()).toMatch(/GraphQL +http/)
    expect(first.printed()).toMatch(/GraphiQL +http/)
    const docs = /Docs +(http\S+)/.exec(first.printed())?.[1] ?? ''
    expect((await fetch(docs)).status).toBe(200)
    const dashboard = /Dashboard +(http\S+)/.exec(first.printed())?.[1] ?? ''
    expect((await fetch(dashboard)).status).toBe(200)
    const token = /Token +(vgw_\w+)/.exec(first.printed())?.[1]
    const answer = JSON.parse(execFileSync('sh', ['-c', `${curlLine(first.printed())} -s`], { encoding: 'utf8' }))
    expect(answer.data.length).toBeGreaterThan(5)
    const counted = await fetch(`${first.restAddress}/tenants`, {
      headers: { accept: 'application/json', authorization: `Bearer ${token}` },
    })
    // A view of the dashboard counts as some 25 operations.
    expect(Number(counted.headers.get('ratelimit-limit'))).toBeGreaterThanOrEqual(1000)
    expect(await first.stop('SIGTERM')).toBe(0)
    expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false)

    const second = await serve(environment)
    expect(second.printed()).not.toContain('Loading demo data')
    expect(/Token +(vgw_\w+)/.exec(second.printed())?.[1]).toBe(token)
    const again = JSON.parse(execFileSync('sh', ['-c', `${curlLine(second.printed())} -s`], { encoding: 'utf8' }))
    expect(again.data).toEqual(answer.data)

    await second.stop('SIGKILL')
    await untilServerEnds()

    const third = await serve(environment)
    const recovered = JSON.parse(execFileSync('sh', ['-c', `${curlLine(third.printed())} -s`], { encoding: 'utf8' }))
    expect(recovered.data).toEqual(answer.data)

    const created = await run(['token', 'create', '--name', 'Second', '--tenant', '1', '--json'], environment)
    expect(created.code, created.stderr).toBe(0)
    const { token: secret } = JSON.parse(created.stdout)
    const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
    expect((await fetch(`${third.restAddress}/tenants`, { headers })).status).toBe(200)

    expect(await third.stop('SIGINT')).toBe(0)
  })

  test('answers open requests before it stops', async () => {
    const service = await serve(environment)
    const token = /Token +(vgw_\w+)/.exec(service.printed())?.[1]
    const headers = { accept: 'application/json', authorization: `Bearer ${token}` }
    const requests = Array.from({ length: 20 }, () => fetch(`${service.restAddress}/tenants`, { headers }))
    await requests[0]
    const stopped = service.stop('SIGTERM')
    const answers = await Promise.allSettled(requests)
    expect(await stopped).toBe(0)
    expect(answers.some(answer => answer.status === 'fulfilled' && answer.value.status === 200)).toBe(true)
    for (const answer of answers) {
      // Connections that the service had not yet accepted fail.
      if (answer.status === 'fulfilled') expect([200, 503]).toContain(answer.value.status)
    }
  })
})

describe('on the database of DATABASE_URL', { timeout: 120_000 }, () => {
  test('an empty database is rejected with the command that migrates it, and gets no demo data', async () => {
    const { host, port, user } = inject('server')
    const admin = postgres({ host, port, user, database: 'postgres', max: 1 })
    await admin`create database empty_one`
    const DATABASE_URL = `postgres://${user}@localhost:${port}/empty_one?host=${host}`
    const rejected = await run(['serve'], { DATABASE_URL })
    expect(rejected.code).toBe(1)
    expect(rejected.stderr).toContain('node main.js migrate')

    const migrated = await run(['migrate'], { DATABASE_URL })
    expect(migrated.code, migrated.stderr).toBe(0)
    expect(migrated.stdout).toContain('0001')
    expect((await run(['migrate'], { DATABASE_URL })).stdout).toContain('up to date')

    const service = await serve({ DATABASE_URL, LOG_LEVEL: 'warn' })
    expect(service.printed()).not.toContain('Token')
    const ready = await fetch(new URL('/readyz', service.restAddress))
    expect(ready.status).toBe(200)
    expect(await ready.json()).toMatchObject({
      status: 'ok',
      checks: { database: 'ok', migrations: 'ok', triggers: 'ok' },
    })
    expect(await service.stop('SIGTERM')).toBe(0)
    await admin`drop database empty_one with (force)`
    await admin.end()
  })
})

test('a signal ends a service that does not listen yet', async () => {
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const { port } = silent.address() as AddressInfo
  const DATABASE_URL = `postgres://nobody@127.0.0.1:${port}/silent`
  const { command, args, options } = commandProcess(['serve'], { DATABASE_URL })
  const child = spawn(command, args, options)
  onTestFinished(() => {
    child.kill('SIGKILL')
    silent.close()
  })
  await once(silent, 'connection')
  child.kill('SIGTERM')
  // Otherwise it would end with 1, when the database has not answered for 4 s.
  expect(await once(child, 'close')).toEqual([0, null])
})

test('reports all configuration errors in one message, without secrets', async () => {
  const settings = { PORT: 'abc', RATE_LIMIT_PER_MINUTE: '0', TRUST_PROXY: '1.2.3.4/99', RATE_STORE: 'memory' }
  const openId = { PUBLIC_URL: 'http://localhost:1', OIDC_ISSUER: 'http://localhost:1', OIDC_DOMAINS: 'example.com' }
  const secrets = { CURSOR_KEY: '5ec4e7'.repeat(9), OIDC_CLIENT_ID: 'gateway', OIDC_CLIENT_SECRET: '5ec4e7' }
  const DATABASE_URL = 'postgres://ann:5ec4e7@localhost/shop'
  const rejected = await run(['serve', '--workers', '2'], { DATABASE_URL, ...settings, ...openId, ...secrets })
  expect(rejected.code).toBe(1)
  for (const name of Object.keys(settings)) expect(rejected.stderr).toContain(name)
  expect(rejected.stdout + rejected.stderr).not.toContain('5ec4e7')
})

test('--version prints the version of package.json, also with an invalid .env', async () => {
  const cwd = createDataDirectory()
  writeFileSync(join(cwd, '.env'), 'invalid')
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  for (const flag of ['--version', '-V']) {
    expect(await run([flag], {}, { cwd })).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  }
})

test('an invalid argument gives one line, a suggestion if there is one, and exit code 2', async () => {
  const { url } = await createDatabase()
  const environment = { DATABASE_URL: url }
  const invalid: [command: string, meant?: string][] = [
    ['tokn list', 'token'],
    ['token lst', 'list'],
    ['token list --jsn', '--json'],
    ['serve --fast'],
    ['demo --scale 0'],
    ['token create'],
    ['token create --name x --permission everything'],
    ['token create --name x --tenant one'],
    ['token create --name x --expires-in soon'],
    ['token revoke first'],
  ]
  const outcomes = await Promise.all(invalid.map(([command]) => run(command.split(' '), environment)))
  for (const [index, [command, meant]] of invalid.entries()) {
    const { code, stderr } = outcomes[index]!
    const [, ...rest] = stderr.trim().split('\n')
    expect([command, code, ...rest]).toEqual([command, 2, ...(meant ? [`(Did you mean ${meant}?)`] : [])])
  }
})

test('tokens are created, listed and revoked', async () => {
  const { url, loader } = await createDatabase()
  await loader`insert into tenant (id, name) values (7, 'Seven'), (8, 'Eight')`
  const environment = { DATABASE_URL: url }
  const options = ['--tenant', '7', '--tenant', '8', '--with-descendants', '--expires-in', '90d']
  const permissions = ['--permission', 'view_vouchers', '--permission', 'view_orders']
  const made = await run(['token', 'create', '--name', 'Till', ...options, ...permissions, '--json'], environment)
  const { id, token } = JSON.parse(made.stdout)
  expect(token).toMatch(/^vgw_[0-9A-Za-z]{49}$/)

  const bare = await run(['token', 'create', '--name', 'Bare', '--json'], environment)
  expect(bare.code, bare.stderr).toBe(0)

  const unknown = await run(['token', 'create', '--name', 'Lost', '--tenant', '99', '--json'], environment)
  expect(unknown.code).toBe(2)
  expect(unknown.stderr).toContain('99')

  expect((await run(['token', 'revoke', String(id)], environment)).code).toBe(0)
  expect((await run(['token', 'revoke', '12345'], environment)).code).toBe(1)

  const listed = await run(['token', 'list', '--json'], environment)
  expect(JSON.parse(listed.stdout)).toMatchObject([
    { name: 'Bare', status: 'active', permissions: [], tenants: [], expires_at: null },
    {
      name: 'Till',
      status: 'revoked',
      permissions: ['view_vouchers', 'view_orders'],
      tenants: [
        { id: 7, with_descendants: true },
        { id: 8, with_descendants: true },
      ],
    },
  ])
  expect(listed.stdout).not.toContain(token)
})
