/** Tests the command `sync` as a user runs it: its output, its exit codes, and its end after a signal. */
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, test } from 'vitest'
import { directoryPlace, hasSqlite, readService } from '../support/copies.ts'
import { createEmptyDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { listen } from '../support/free-port.ts'
import { startHostileService } from '../support/hostile-service.ts'
import { createLogin } from '../support/login.ts'
import { type Outcome, run, start } from '../support/process.ts'
import { startService } from '../support/service.ts'

const { build, client } = await startService()
const origin = await client.app.listen({ host: '127.0.0.1', port: 0 })
const tenantId = await build.tenant()
await build.voucher(tenantId)
const { secret } = await build.token([tenantId])
const environment = { VOUCHER_GATEWAY_TOKEN: secret, VOUCHER_GATEWAY_URL: origin }

const sync = (args: string[], variables: NodeJS.ProcessEnv = environment, options = {}) =>
  run(['sync', ...args], variables, options)

describe.concurrent('sync', () => {
  test('makes a copy, and reports its progress in sentences', async () => {
    const place = directoryPlace()
    const tokenFile = join(createDirectory(), 'token')
    writeFileSync(tokenFile, `${secret}\n`)
    const { code, stdout, stderr } = await sync(
      ['--url', `${origin}/api/external/v1/`, '--to', place.to, '--token-file', tokenFile],
      {},
    )
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain(`Begins the copy of ${origin} in ${place.to}.\n`)
    expect(stdout).toContain(`Tenant ${tenantId}: 1 purchased voucher by pages.\n`)
    expect(stdout).toMatch(/In step at 20\S+Z: 1 tenant, 1 record received, 0 removals, \d+ s\.\n$/)
    expect(await place.read()).toEqual(await readService(origin, secret))
  })

  test('--json prints one line per event, and --watch runs until a signal, while a second sync is refused', async () => {
    const place = directoryPlace()
    const tenantId = await build.tenant()
    const { secret } = await build.token([tenantId])
    const environment = { VOUCHER_GATEWAY_TOKEN: secret, VOUCHER_GATEWAY_URL: origin }
    const { child, ended } = start(['sync', '--json', '--watch', '1s', '--to', place.to], environment)
    const events: { event: string }[] = []
    let changed = 0
    let second: Outcome | null = null
    for await (const line of createInterface(child.stdout)) {
      const event = JSON.parse(line)
      events.push(event)
      if (event.event !== 'in_step') continue
      if (changed === 0) {
        second = await sync(['--to', place.to])
        changed = await build.voucher(tenantId)
      } else if (event.received > 0) child.kill('SIGINT')
    }
    expect(await ended).toBe(0)
    const stderr = expect.stringContaining(`Process ${child.pid} syncs to this copy`)
    expect(second).toMatchObject({ code: 6, stderr })
    expect(events[0]).toEqual({ event: 'start', url: origin, to: place.to, resumed: false })
    expect(events).toContainEqual(
      expect.objectContaining({ event: 'progress', tenant: tenantId, list: 'purchased-vouchers', done: true }),
    )
    expect(events.at(-1)).toEqual({ event: 'stopped' })
    expect(Object.keys(await place.read())).toContain(`purchased-vouchers ${tenantId} ${changed}`)
  })

  test.each([
    [[]],
    [['--json']],
  ])('control characters from a service do not reach the terminal: %j', async (args: string[]) => {
    const service = await startHostileService()
    const message = '\u001b]0;title\u0007\u001b[2J\u009b31m\u202ered\r\nIn step at \u2066now\u200f.'
    service.answers.error = { status: 401, body: JSON.stringify({ message }) }
    const { code, stdout, stderr } = await sync(['--url', service.url, '--to', directoryPlace().to, ...args])
    expect(code).toBe(3)
    const lines = `${stdout}${stderr}`.trim().split('\n')
    expect(lines.at(-1)).toMatch(/red.*In step at/)
    for (const line of lines) expect(line).not.toMatch(/\p{Cc}|\p{Cf}/u)
    if (args.length > 0) expect(JSON.parse(lines.at(-1)!).message).toBe(message)
  })

  test('the token is sent to another machine over http only with --allow-http', async () => {
    const preload = 'globalThis.fetch = async url => { throw new Error(url.host) }'
    const args = ['--url', 'http://192.0.2.1/', '--allow-http', '--to', directoryPlace().to]
    const { code, stderr } = await sync(args, environment, { preload })
    expect([code, stderr]).toEqual([4, expect.stringContaining('192.0.2.1')])
  })

  test('accepts --verify, --status, --dry-run and --quiet', async () => {
    const { to } = directoryPlace()
    expect((await sync(['--to', to, '--dry-run'])).stdout).toContain('would read 1 purchased voucher, to the end')
    expect(await sync(['--to', to, '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' })
    const status = await sync(['--to', to, '--status'], {})
    expect(status).toMatchObject({ code: 0, stderr: '' })
    expect(status.stdout).toMatch(/^A copy of .*: \d tenants?, in step up to 20\S+Z, \d+ s ago\.$/m)
    expect(status.stdout).toMatch(new RegExp(`^Tenant ${tenantId}: 1 purchased voucher, in step up to 20\\S+\\.$`, 'm'))
    const before = status.stdout.split('\n').length
    const silent = createServer()
    const away = { ...environment, VOUCHER_GATEWAY_URL: `http://127.0.0.1:${await listen(silent)}` }
    for (const variables of [away, { VOUCHER_GATEWAY_URL: origin }]) {
      const { code, stdout, stderr } = await sync(['--to', to, '--status'], variables)
      expect([code, stdout.split('\n').length, stderr]).toEqual([0, before, ''])
    }
    const other = origin.replace('127.0.0.1', 'localhost')
    const moved = (await sync(['--to', to, '--dry-run', '--url', other])).stdout
    expect(moved).toContain(`The service of the copy has moved from ${origin} to ${other}.\n`)
    expect(moved).toContain('Nothing was written.')
    expect((await sync(['--to', to, '--verify'])).stdout).toMatch(/The copy holds what the service holds at 20/)
    rmSync(join(to, 'purchased-vouchers'), { recursive: true })
    const { code, stdout, stderr } = await sync(['--to', to, '--verify', '--quiet'])
    expect([code, stdout]).toEqual([5, ''])
    expect(stderr).toMatch(/^The copy differs .*1 purchased voucher in the service, 0 in the copy: 1 missing.*--full/)
    expect((await sync(['--to', to, '--full'])).stdout).toContain('Reads all lists again: it was asked for.')
    expect((await sync(['--to', to, '--verify', '--quiet'])).code).toBe(0)
  })

  test('a full disk gives an error with the file and a remedy, and the same command can later continue the copy', async () => {
    const place = directoryPlace()
    const tenantId = await build.tenant()
    for (let count = 0; count < 120; count++) await build.voucher(tenantId)
    const { secret } = await build.token([tenantId])
    const variables = { ...environment, VOUCHER_GATEWAY_TOKEN: secret }
    // The limit for the size of a file, in KiB, has the same effect as a full disk.
    const full = await sync(['--to', place.to], variables, { shell: 'ulimit -f 24; exec "$@"' })
    expect(full).toMatchObject({ code: 1, stderr: expect.stringMatching(/EFBIG.*journal-1\.ndjson'\. Free space/) })
    const status = await sync(['--to', place.to, '--status'], {})
    expect(status).toMatchObject({ code: 7, stderr: expect.stringContaining('The copy is not in step') })
    expect(status.stdout).toMatch(/not yet in step\.\n(.*\n)*.*: [1-9]\d* purchased vouchers, not yet in step\./)
    expect(await sync(['--to', place.to, '--quiet'], variables)).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(await place.read()).toEqual(await readService(origin, secret))
    expect((await sync(['--to', place.to, '--status'], {})).code).toBe(0)
  })

  test('when an administrator has created the schema, the login needs no right to create schemas', async () => {
    const { owner, address } = await createEmptyDatabase()
    const { login, url: to } = await createLogin(owner, address)
    await owner.unsafe(`create schema "copy" authorization ${login}`)
    expect(await sync(['--to', to, '--schema', 'copy', '--quiet'])).toEqual({ code: 0, stdout: '', stderr: '' })
    expect((await sync(['--to', to, '--schema', 'other', '--quiet'])).stderr).toContain('permission denied')
  })

  test('each type of error has its exit code', async () => {
    const to = () => directoryPlace().to
    const occupied = createDirectory()
    const nowhere = 'http://127.0.0.1:9'
    const proxy = { https_proxy: nowhere }
    const sqlite = ['--to', `sqlite:${join(createDirectory(), 'copy.db')}`]
    const silent = await listen(createServer())
    const file = join(occupied, 'mine')
    writeFileSync(file, '')
    const cases: [number, string | null, string[], NodeJS.ProcessEnv?][] = [
      [2, 'names no directory, sqlite:FILE or postgres:// URL', ['--to', 'mysql://host/database']],
      [1, 'cannot be opened: the server does not answer.', ['--to', `postgres://127.0.0.1:${silent}/none`]],
      [2, 'There is no token: set VOUCHER_GATEWAY_TOKEN', ['--to', to()], { VOUCHER_GATEWAY_URL: origin }],
      [2, 'is not empty and holds no copy', ['--to', occupied]],
      [2, 'The file of --token-file cannot be read: ENOENT', ['--to', to(), '--token-file', join(occupied, 'none')]],
      [1, `The copy in ${file} cannot be opened: ENOTDIR`, ['--to', file]],
      [1, "mkdir '/proc/copy'. Name another place with --to", ['--to', '/proc/copy']],
      [2, 'Did you mean --to?', ['--too', to()]],
      [1, `, schema voucher_gateway_copy cannot be opened: `, ['--to', 'postgres://127.0.0.1:9/none']],
      (await hasSqlite()) ? [0, null, sqlite] : [2, 'needs Node 22.13 or later', sqlite],
      [2, "'--to <place>' has colour, which is not known", ['--to', 'postgres://127.0.0.1:9/none?colour=red']],
      [4, 'The connection failed. (bad port', ['--to', to(), '--url', nowhere]],
      [4, 'https_proxy is not used: set HTTPS_PROXY', ['--to', to(), '--url', nowhere], { ...environment, ...proxy }],
      [2, "option '--url <address>' not specified", ['--to', to()], {}],
      [2, "option '--verify' cannot be used with option '--full'", ['--to', to(), '--verify', '--full']],
      [1, 'There is no copy in', ['--to', to(), '--status'], {}],
      [2, 'http://192.0.2.1 would get the token unencrypted', ['--to', to(), '--url', 'http://192.0.2.1/']],
    ]
    const outcomes = await Promise.all(cases.map(([, , args, variables]) => sync(args, variables)))
    expect(outcomes.map(({ code }) => code)).toEqual(cases.map(([code]) => code))
    for (const [index, [, message]] of cases.entries()) {
      if (message === null) expect(outcomes[index]?.stderr).toBe('')
      else expect(outcomes[index]?.stderr).toContain(message)
    }
  })
})
