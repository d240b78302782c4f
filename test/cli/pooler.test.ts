/** Tests sessions that get other settings than the service needs, from a pooler or from the database. */
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { listen } from '../support/free-port.ts'
import { createLogin } from '../support/login.ts'
import { refusalOf, run, serve } from '../support/process.ts'

const database = await createDatabase()
const { address, platform } = database
const owner = address.user
const { login, url } = await createLogin(platform, address, 'in role voucher_gateway')

const configuration = 'docs/scaling.md has the configuration.'

/** Returns the environment of a service whose connections send no start-up parameters. */
const withoutStartupParameters = (DATABASE_URL = url) => ({
  DATABASE_URL,
  DATABASE_STARTUP_PARAMETERS: 'off',
  LOG_LEVEL: 'warn',
})

const searchPathSetting = 'search_path = pg_catalog, pg_temp'

/** Sets, for the login, the settings that a connection otherwise sends as start-up parameters. */
async function setForLogin(): Promise<void> {
  for (const setting of ['role = voucher_gateway', "statement_timeout = '2s'", 'jit = off', searchPathSetting])
    await platform.unsafe(`alter role ${login} set ${setting}`)
}

/**
 * Starts a proxy in front of the database. The proxy replaces the first message of each client.
 *
 * @returns the database URL with the address of the proxy
 */
async function startPooler(change: (startup: Buffer) => Buffer): Promise<string> {
  const proxy = createServer(client => {
    const server = connect(join(address.host, `.s.PGSQL.${address.port}`))
    client.once('data', startup => {
      server.write(change(startup))
      client.pipe(server)
    })
    server.pipe(client)
    client.on('error', () => {}).on('close', () => server.destroy())
    server.on('error', () => {}).on('close', () => client.destroy())
  })
  return `postgres://${owner}@127.0.0.1:${await listen(proxy)}/${address.database}`
}

/** Removes a parameter from a StartupMessage, as PgBouncer does for names in `ignore_startup_parameters`. */
const createParameterFilter = (name: string) => (startup: Buffer) => {
  const words = startup.subarray(8, -2).toString().split('\0')
  const kept = words.filter((_, index) => words[index - (index % 2)] !== name)
  const body = Buffer.from(`${kept.join('\0')}\0\0`)
  const head = Buffer.from(startup.subarray(0, 8))
  head.writeUInt32BE(8 + body.length)
  return Buffer.concat([head, body])
}

test.each([
  ['role', `the role is ${owner} and not voucher_gateway`],
  ['statement_timeout', /statement_timeout is 0 and not \d+ ms or less/],
  ['jit', 'jit is on and not off'],
  ['search_path', 'search_path is "$user", public and not pg_catalog, pg_temp'],
  ['TimeZone', /TimeZone is (?!UTC)\S+ and not UTC/],
])('a pooler that drops %s is refused with the remedy', async (name, problem) => {
  await platform.unsafe(`alter role ${owner} in database ${address.database} set timezone = 'Europe/Paris'`)
  const environment = { DATABASE_URL: await startPooler(createParameterFilter(name)) }
  const refusal = refusalOf(await run(['token', 'list'], environment))
  expect(refusal).toMatch(problem)
  for (const remedy of ['ignore_startup_parameters', 'DATABASE_STARTUP_PARAMETERS=off', configuration]) {
    expect(refusal).toContain(remedy)
  }
})

test('without start-up parameters a login with more rights than the role of the service is refused', async () => {
  for (const setting of ['role = voucher_gateway', "statement_timeout = '2s'", searchPathSetting])
    await platform.unsafe(`alter role ${owner} in database ${address.database} set ${setting}`)
  try {
    const refusal = refusalOf(await run(['token', 'list'], withoutStartupParameters(database.url)))
    expect(refusal).toContain(`The login ${owner} may change the audit`)
    expect(refusal).toContain('create role gateway_login login in role voucher_gateway;')
  } finally {
    await platform.unsafe(`alter role ${owner} in database ${address.database} reset all`)
  }
})

test('a read-only database is refused', async () => {
  await platform.unsafe(`alter role ${login} set default_transaction_read_only = on`)
  const refusal = refusalOf(await run(['token', 'list'], { DATABASE_URL: url }))
  expect(refusal).toMatch(/^DATABASE_READ_ONLY: .* Set default_transaction_read_only to off/)
  await platform.unsafe(`alter role ${login} reset all`)
})

test('the service uses no session that has lost its settings, reports the reason, and recovers when the settings are back', async () => {
  // Of these settings, the sessions of commands need only the search path.
  expect(refusalOf(await run(['migrate'], withoutStartupParameters()))).toContain(
    'search_path is "$user", public and not pg_catalog',
  )
  await platform.unsafe(`alter role ${login} set ${searchPathSetting}`)
  const refusal = refusalOf(await run(['serve'], withoutStartupParameters()))
  expect(refusal).toContain(`the role is ${login} and not voucher_gateway, statement_timeout is 0`)
  expect(refusal).toContain(configuration)

  await setForLogin()
  const { token } = JSON.parse(
    (await run(['token', 'create', '--name', 'Till', '--json'], withoutStartupParameters())).stdout,
  )
  const service = await serve(withoutStartupParameters())
  const list = () => service.list(token)
  const endSessions = () =>
    platform`select pg_terminate_backend(pid) from pg_stat_activity where usename = ${login} and pid <> pg_backend_pid()`
  expect((await list()).status).toBe(200)

  await platform.unsafe(`alter role ${login} reset all`)
  await endSessions()
  await expect.poll(async () => (await list()).status).toBe(503)
  const refused = await list()
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
  expect(await refused.text()).not.toContain('role')
  const reason = `the role is ${login} and not voucher_gateway`
  expect(await service.ready()).toEqual({ status: 503, body: expect.stringContaining(reason) })
  await expect.poll(service.printed).toContain(reason)

  await setForLogin()
  await expect.poll(async () => (await list()).status, { timeout: 5_000 }).toBe(200)
  await expect.poll(service.ready, { timeout: 5_000 }).toMatchObject({ status: 200 })
  expect(await service.stop('SIGTERM')).toBe(0)
})
