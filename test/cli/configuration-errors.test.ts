import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { createDataDirectory, type Outcome, type ProcessOptions, run } from '../support/process.ts'

const { url } = await createDatabase()
const { host: socketDirectory, port: databasePort, user } = inject('server')

/** The one line in which a command says why it failed. */
function reasonOf({ code, stdout, stderr }: Outcome): string {
  expect(code, stdout + stderr).toBe(1)
  expect(stderr.trim().split('\n')).toHaveLength(1)
  return stderr
}

describe('the address on which the service cannot listen', () => {
  const start = async (environment: NodeJS.ProcessEnv, options: ProcessOptions = {}) =>
    reasonOf(await run(['serve'], { DATABASE_URL: url, LOG_LEVEL: 'silent', ...environment }, options))

  test.each(['127.0.0.1', '0.0.0.0'])('a port in use on %s: PORT is named', async host => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    onTestFinished(() => void other.close())
    const { port } = other.address() as AddressInfo
    const reason = await start({ HOST: host, PORT: String(port) })
    expect(reason).toContain(`HOST=${host} and PORT=${port} (EADDRINUSE)`)
    expect(reason).toContain('set PORT to another port')
  })

  test('a port that the user may not use: PORT is named', async () => {
    // Which ports those are differs with the machine, so the operating system's answer is given in its place.
    const preload = `
      import { Server } from 'node:net'
      Server.prototype.listen = function () {
        process.nextTick(() => this.emit('error', Object.assign(new Error('listen EACCES'), { code: 'EACCES' })))
        return this
      }`
    const reason = await start({ PORT: '80' }, { preload })
    expect(reason).toContain('HOST=127.0.0.1 and PORT=80 (EACCES)')
    expect(reason).toContain('Set PORT to 1024 or higher')
  })

  test.each([
    '192.0.2.1',
    '2001:db8::1',
    'no-such-host.invalid',
  ])('%s, which is not of this machine: HOST is named', async host => {
    const reason = await start({ HOST: host, PORT: '0' })
    expect(reason).toContain(`HOST=${host} and PORT=0`)
    expect(reason).toContain('HOST must be an address of this machine')
  })
})

describe('the database that cannot be used', () => {
  const socket = (directory: string) => `host=${encodeURIComponent(directory)}`
  test.each([
    [
      'nothing listens there',
      'postgres://ann:s3cret@127.0.0.1:1/shop',
      'ECONNREFUSED',
      'server 127.0.0.1:1, database shop, user ann',
    ],
    [
      'nothing listens on any address of the name',
      'postgres://ann:s3cret@localhost:1/shop',
      'ECONNREFUSED',
      'server localhost:1',
    ],
    [
      'there is no such socket',
      `postgres://ann:s3cret@localhost/shop?${socket('/nowhere')}`,
      'ENOENT',
      'server /nowhere',
    ],
    [
      'there is no such host',
      'postgres://ann:s3cret@database.invalid/shop',
      /ENOTFOUND|EAI_AGAIN/,
      'server database.invalid:5432',
    ],
    [
      'the login is refused',
      `postgres://nobody%20here:s3cret@localhost:${databasePort}/postgres?${socket(socketDirectory)}`,
      'role "nobody here" does not exist. Correct the user name and the password in DATABASE_URL',
      'user nobody here',
    ],
    [
      'there is no such database',
      `postgres://${user}:s3cret@localhost:${databasePort}/nothing_here?${socket(socketDirectory)}`,
      'database "nothing_here" does not exist. Create that database',
      'database nothing_here',
    ],
  ])('%s: DATABASE_URL is named, and its password is not shown', async (_, DATABASE_URL, cause, named) => {
    const reason = reasonOf(await run(['serve'], { DATABASE_URL }))
    expect(reason).toMatch(/^The database that DATABASE_URL names/)
    expect(reason).toMatch(cause)
    expect(reason).toContain(named)
    expect(reason).not.toContain('s3cret')
  })

  test.each(['migrate', 'demo', 'token list', 'admin list'])('%s names DATABASE_URL too', async command => {
    const outcome = await run(command.split(' '), { DATABASE_URL: 'postgres://ann@127.0.0.1:1/shop' })
    expect(reasonOf(outcome)).toMatch(/^The database that DATABASE_URL names/)
  })

  test.each(['50%off', '%ff'])('the password %s, which does not decode: DATABASE_URL is named', async password => {
    const { code, stderr } = await run(['token', 'list'], { DATABASE_URL: `postgres://ann:${password}@localhost/shop` })
    expect(code).toBe(1)
    expect(stderr).toContain('DATABASE_URL must have each % in a user name or password written as %25')
    expect(stderr).not.toContain(password)
  })
})

describe('the data directory that cannot be used', () => {
  const parent = createDataDirectory()

  const refuse = async (dataDir: string, options: ProcessOptions = {}) => {
    for (const command of [['serve'], ['admin', 'list']]) {
      const reason = reasonOf(await run(command, { DATA_DIR: dataDir }, options))
      expect(reason).toContain(`DATA_DIR=${dataDir} cannot be used`)
      expect(reason).toContain('Set DATA_DIR to a directory that this user can write to')
    }
  }

  test('a file stands there, or above it: DATA_DIR is named', async () => {
    const file = join(parent, 'file')
    writeFileSync(file, '')
    await refuse(file)
    await refuse(join(file, 'below'))
  })

  test('the user may not write there: DATA_DIR is named', async () => {
    const locked = join(parent, 'locked')
    mkdirSync(locked)
    chmodSync(locked, 0o555)
    // Root may write everywhere, so it stops being root when it is about to.
    const preload = `
      import fs from 'node:fs'
      import { syncBuiltinESMExports } from 'node:module'
      const { mkdirSync } = fs
      fs.mkdirSync = (...given) => {
        if (process.getuid() === 0) process.setuid(65534)
        return mkdirSync(...given)
      }
      syncBuiltinESMExports()`
    const { stderr } = await run(['serve'], { DATA_DIR: join(locked, 'data') }, { preload })
    expect(stderr).toContain('EACCES')
    await refuse(join(locked, 'data'), { preload })
  })
})
