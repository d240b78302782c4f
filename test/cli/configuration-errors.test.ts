import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { listen } from '../support/free-port.ts'
import { type Outcome, refusalOf, run, serve } from '../support/process.ts'
import { until } from '../support/until.ts'

const { url } = await createDatabase()
const { host: socketDirectory, port: databasePort, user } = inject('server')

/** Returns the error message of a failed command, which must be one line. */
function readReason(outcome: Outcome): string {
  const refusal = refusalOf(outcome)
  expect(refusal.trim().split('\n')).toHaveLength(1)
  return refusal
}

describe('an address on which the service cannot listen', () => {
  const start = async (environment: NodeJS.ProcessEnv) =>
    readReason(await run(['serve'], { DATABASE_URL: url, LOG_LEVEL: 'silent', ...environment }))

  test.each(['127.0.0.1', '0.0.0.0'])('when the port is in use on %s, the error names PORT', async host => {
    const port = await listen(createServer())
    const reason = await start({ HOST: host, PORT: String(port) })
    expect(reason).toContain(`HOST=${host} and PORT=${port} (EADDRINUSE)`)
    expect(reason).toMatch(/choose another port, for example with: node \S+ serve --port 8081/)
  })

  test('npm start reports a port in use before it builds', async () => {
    const port = await listen(createServer())
    // This directory has Node but no compiler, so a build would fail.
    const bare = createDirectory()
    symlinkSync(process.execPath, join(bare, 'node'))
    const options = { env: { PATH: `${bare}:/usr/bin:/bin` }, encoding: 'utf8' } as const
    const { status, stderr } = spawnSync('tools/start', ['--port', `${port}`], options)
    expect([status, stderr]).toEqual([1, expect.stringMatching(/^.* port \d+\. .*: npm start -- --port \d+\n$/)])
  })

  test('when HOST is an address of another machine, the error names HOST', async () => {
    const reason = await start({ HOST: '192.0.2.1', PORT: '0' })
    expect(reason).toContain('HOST=192.0.2.1 and PORT=0')
    expect(reason).toContain('HOST must be an address of this machine')
  })
})

test.each([
  'serve',
  'token list',
])('in production, %s starts no embedded database, and the error names DATABASE_URL with all other errors', async command => {
  const DATA_DIR = join(createDirectory(), 'data')
  const environment = { NODE_ENV: 'production', DATABASE_URL: '', LOG_LEVEL: 'loud', DATA_DIR }
  const [first, second, ...others] = refusalOf(await run(command.split(' '), environment))
    .trim()
    .split('\n')
  expect(first).toMatch(/^CONFIG_INVALID: LOG_LEVEL must be/)
  expect(second).toMatch(/^CONFIG_INVALID: DATABASE_URL must be set when NODE_ENV is production, for example postgres:/)
  expect(others).toEqual([])
  expect(existsSync(DATA_DIR)).toBe(false)
})

describe('a database that cannot be used', () => {
  const socket = (directory: string) => `host=${encodeURIComponent(directory)}`
  const server = (database: string) => `localhost:${databasePort}/${database}?${socket(socketDirectory)}`
  const noRole = 'role "nobody here" does not exist. Correct the user name and the password in DATABASE_URL'
  const noDatabase = 'database "nothing_here" does not exist. Create that database'
  test.each([
    ['no server listens', 'ann', '127.0.0.1:1/shop', 'ECONNREFUSED', 'server 127.0.0.1:1, database shop, user ann'],
    ['none listens at any address of the name', 'ann', 'localhost:1/shop', 'ECONNREFUSED', 'server localhost:1'],
    ['the socket does not exist', 'ann', `localhost/shop?${socket('/nowhere')}`, 'ENOENT', 'server /nowhere'],
    ['the host does not exist', 'ann', 'database.invalid/shop', /ENOTFOUND|EAI_AGAIN/, 'server database.invalid:5432'],
    ['the role does not exist', 'nobody%20here', server('postgres'), noRole, 'user nobody here'],
    ['the database does not exist', user, server('nothing_here'), noDatabase, 'database nothing_here'],
  ])('%s: the error names DATABASE_URL without its password', async (_, login, database, cause, named) => {
    for (const command of database === '127.0.0.1:1/shop' ? ['serve', 'migrate', 'token list'] : ['serve']) {
      const DATABASE_URL = `postgres://${login}:s3cret@${database}`
      const reason = readReason(await run(command.split(' '), { DATABASE_URL }))
      expect(reason).toMatch(/^DATABASE_\w+: The database that DATABASE_URL names/)
      expect(reason).toMatch(cause)
      expect(reason).toContain(named)
      expect(reason).not.toContain('s3cret')
    }
  })

  test('when the server does not answer, the error says so', async () => {
    const environment = { DATABASE_URL: `postgres://ann@127.0.0.1:${await listen(createServer())}/shop` }
    expect(readReason(await run(['migrate'], environment))).toContain(
      'cannot be used: the server does not answer. Start',
    )
  })
})

describe.runIf(process.platform === 'linux')('the limits of the process', () => {
  const environment = { DATABASE_URL: url, LOG_LEVEL: 'warn' }

  const toLoad =
    /^FILES_TOO_FEW: This process may have 30 files open, and needs 256 to load its code\. .* ulimit -n 4096/
  const toServe = /^FILES_TOO_FEW: This process may have 300 files open, .* MAX_REQUESTS=500/
  const heap = /^HEAP_TOO_SMALL: This process may have a heap of \d+ MiB, .* MAX_REQUESTS=160/
  test.each([
    ['ulimit -n 30', {}, toLoad],
    ['ulimit -n 300', { MAX_REQUESTS: '500' }, toServe],
    ['true', { NODE_OPTIONS: '--max-old-space-size=48' }, heap],
  ])('with %s and %j the service does not start', async (shell, variables, sentence) => {
    const outcome = await run(['serve'], { ...environment, ...variables }, { shell: `${shell}; exec "$@"` })
    expect(readReason(outcome)).toMatch(sentence)
  })

  test('with more idle connections than the process may open, the service is ready and logs a warning', async () => {
    const service = await serve(environment, { shell: 'ulimit -n 300; exec "$@"' })
    const { port } = new URL(service.restAddress)
    const idle = Array.from({ length: 400 }, () => connect(Number(port), '127.0.0.1').on('error', () => {}))
    onTestFinished(() => {
      for (const socket of idle) socket.destroy()
    })
    await Promise.all(idle.map(socket => once(socket, 'connect')))
    await until('it is ready', async () => (await service.ready()).status === 200)
    await until('the warning is written', () => service.printed().includes('few more connections fit'))
    await service.stop('SIGKILL')
  })
})

test('when the data directory is a file or below a file, the error names DATA_DIR', async () => {
  const file = join(createDirectory(), 'file')
  writeFileSync(file, '')
  for (const DATA_DIR of [file, join(file, 'below')]) {
    for (const command of [['serve'], ['admin', 'list']]) {
      const reason = readReason(await run(command, { DATA_DIR }))
      expect(reason).toContain(`DATA_DIR=${DATA_DIR} cannot be used`)
      expect(reason).toContain('Set DATA_DIR to a directory that this user can write to')
    }
  }
})
