import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, test } from 'vitest'
import postgres from '#postgres'
import { createDatabase } from '../support/database.ts'
import { createDataDirectory, run, serve } from '../support/process.ts'

const dataDir = createDataDirectory()
const environment = { DATA_DIR: dataDir, LOG_LEVEL: 'warn' }

/** Waits until nothing serves the data directory any more. */
async function untilFree(): Promise<void> {
  const deadline = Date.now() + 10_000
  while (existsSync(join(dataDir, 'postgres/postmaster.pid'))) {
    if (Date.now() > deadline) throw new Error('an orphaned PostgreSQL still serves the data directory')
    await new Promise(resolve => setTimeout(resolve, 20))
  }
}

const curlLine = (printed: string) => /^ *(curl .*)$/m.exec(printed)?.[1] ?? ''

describe('on an embedded database', { timeout: 120_000 }, () => {
  test('starts from nothing, with demo data and a curl line that works; keeps both; stops and recovers', async () => {
    const first = await serve(environment)
    expect(first.printed()).toMatch(/GraphQL +http/)
    expect(first.printed()).toMatch(/GraphiQL +http/)
    const token = /Token +(vgw_\w+)/.exec(first.printed())?.[1]
    const answer = JSON.parse(execFileSync('sh', ['-c', `${curlLine(first.printed())} -s`], { encoding: 'utf8' }))
    expect(answer.data.length).toBeGreaterThan(5)
    expect(await first.stop('SIGTERM')).toBe(0)
    expect(existsSync(join(dataDir, 'postgres/postmaster.pid'))).toBe(false)

    const second = await serve(environment)
    expect(second.printed()).not.toContain('Loading demo data')
    expect(/Token +(vgw_\w+)/.exec(second.printed())?.[1]).toBe(token)
    const again = JSON.parse(execFileSync('sh', ['-c', `${curlLine(second.printed())} -s`], { encoding: 'utf8' }))
    expect(again.data).toEqual(answer.data)

    await second.stop('SIGKILL')
    await untilFree()

    const third = await serve(environment)
    const recovered = JSON.parse(execFileSync('sh', ['-c', `${curlLine(third.printed())} -s`], { encoding: 'utf8' }))
    expect(recovered.data).toEqual(answer.data)

    const made = await run(['token', 'create', '--name', 'Beside', '--tenant', '1', '--json'], environment)
    expect(made.code, made.stderr).toBe(0)
    const { token: secret } = JSON.parse(made.stdout)
    const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
    expect((await fetch(`${third.restAddress}/tenants`, { headers })).status).toBe(200)

    expect(await third.stop('SIGINT')).toBe(0)
  })

  test('answers the requests under way before it stops', async () => {
    const service = await serve(environment)
    const token = /Token +(vgw_\w+)/.exec(service.printed())?.[1]
    const headers = { accept: 'application/json', authorization: `Bearer ${token}` }
    const asked = Array.from({ length: 20 }, () => fetch(`${service.restAddress}/tenants`, { headers }))
    await asked[0]
    const stopped = service.stop('SIGTERM')
    const answers = await Promise.allSettled(asked)
    expect(await stopped).toBe(0)
    expect(answers.some(answer => answer.status === 'fulfilled' && answer.value.status === 200)).toBe(true)
    for (const answer of answers) {
      // A connection that was not yet accepted is refused; one that was is answered.
      if (answer.status === 'fulfilled') expect([200, 503]).toContain(answer.value.status)
    }
  })
})

describe('on a database of one’s own', { timeout: 120_000 }, () => {
  test('an empty one is refused with the command that mends it, and left alone', async () => {
    const { host, port, user } = inject('server')
    const admin = postgres({ host, port, user, database: 'postgres', max: 1 })
    await admin`create database empty_one`
    const DATABASE_URL = `postgres://${user}@localhost:${port}/empty_one?host=${host}`
    const refused = await run(['serve'], { DATABASE_URL })
    expect(refused.code).toBe(1)
    expect(refused.stderr).toContain('node main.js migrate')

    const migrated = await run(['migrate'], { DATABASE_URL })
    expect(migrated.code, migrated.stderr).toBe(0)
    expect(migrated.stdout).toContain('0001')
    expect((await run(['migrate'], { DATABASE_URL })).stdout).toContain('up to date')

    const service = await serve({ DATABASE_URL, LOG_LEVEL: 'warn' })
    expect(service.printed()).not.toContain('Token')
    const ready = await fetch(new URL('/readyz', service.restAddress))
    expect(ready.status).toBe(200)
    expect(await ready.json()).toEqual({ status: 'ok', checks: { database: 'ok', migrations: 'ok', triggers: 'ok' } })
    expect(await service.stop('SIGTERM')).toBe(0)
    await admin`drop database empty_one with (force)`
    await admin.end()
  })
})

test('tells all errors of the configuration at once', async () => {
  const refused = await run(['serve'], { PORT: 'abc', RATE_LIMIT_PER_MINUTE: '0', TRUST_PROXY: '1.2.3.4/99' })
  expect(refused.code).toBe(1)
  for (const name of ['PORT', 'RATE_LIMIT_PER_MINUTE', 'TRUST_PROXY']) expect(refused.stderr).toContain(name)
})

test('--version prints the version of package.json, also where .env is faulty', async () => {
  const cwd = createDataDirectory()
  writeFileSync(join(cwd, '.env'), 'faulty')
  const { version } = JSON.parse(readFileSync(join(import.meta.dirname, '../../package.json'), 'utf8'))
  for (const flag of ['--version', '-V']) {
    expect(await run([flag], {}, { cwd })).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  }
})

test('a wrong argument is one line and exit code 2', async () => {
  const { url } = await createDatabase()
  const environment = { DATABASE_URL: url }
  const wrong = [
    ['tokn'],
    ['serve', '--fast'],
    ['demo', '--scale', '0'],
    ['token', 'create'],
    ['token', 'create', '--name', ''],
    ['token', 'create', '--name', 'x', '--permission', 'everything'],
    ['token', 'create', '--name', 'x', '--tenant', 'one'],
    ['token', 'create', '--name', 'x', '--expires-in', 'soon'],
    ['token', 'revoke', 'first'],
  ]
  const outcomes = await Promise.all(wrong.map(args => run(args, environment)))
  for (const [index, outcome] of outcomes.entries()) {
    expect(outcome.code, wrong[index]?.join(' ')).toBe(2)
    expect(outcome.stderr.trim().split('\n'), wrong[index]?.join(' ')).toHaveLength(1)
  }
})

test('tokens are made, listed and revoked', async () => {
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
