import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { Pool } from '../../src/db/sql.ts'
import { createAdministrator } from '../../src/domain/administrator/administrator-password.ts'
import { inviteFirstAdministrator } from '../../src/domain/administrator/invitation.ts'
import { tester } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { onTerminal, run, serve } from '../support/process.ts'
import { createVisitor } from '../support/visitor.ts'

const password = 'a lot of quiet water'

const shared = await createDatabase()

const setupLink = /(http\S+)(\/admin\/setup\/[\w-]{43})\n/

const invitations = (pool: Pool) => pool`select email from gateway.invitation`

test('while there is no administrator, a start on a terminal prints a set-up link, and the log has no secret', async () => {
  const { url, platform } = await createDatabase()
  const environment = { DATABASE_URL: url, LOG_LEVEL: 'trace' }
  const service = await serve(environment, onTerminal)
  const { origin } = service
  expect(service.printed()).toContain(`Admin      ${origin}/admin\n`)
  const [, printedOrigin, link = ''] = setupLink.exec(service.printed()) ?? []
  expect(printedOrigin).toBe(origin)
  const visitor = createVisitor(origin)
  const fields = { email: 'root@example.com', password, again: password }
  expect((await visitor.submit(link, fields)).status).toBe(303)
  expect((await visitor.get('/admin/account')).status).toBe(200)

  const invited = await visitor.submit('/admin/administrators', { email: 'ann@example.com' })
  const invitation = /\/admin\/setup\/([\w-]{43})/.exec(invited.html)?.[1] ?? 'none'
  await createVisitor(origin).submit(`/admin/setup/${invitation}`, { password: 'not the same one', again: 'as this' })
  await createVisitor(origin).submit('/admin/login', { email: 'x@example.com', password: 'quite another secret' })
  await platform`alter table gateway.session rename to session_away`
  expect((await visitor.get('/admin/account')).status).toBe(500)
  await platform`alter table gateway.session_away rename to session`
  const session = decodeURIComponent(visitor.jar.get('vgw-session') ?? 'none')
  await service.stop('SIGTERM')
  // The command prints the link, but the log after this line must not contain the link.
  const log = service.printed().slice(service.printed().indexOf('Ctrl-C stops it.'))
  expect(log).toContain('request failed')
  for (const secret of [password, 'not the same one', 'quite another secret', invitation, link]) {
    expect(log).not.toContain(secret)
  }
  expect(log).not.toContain(session.split('.')[0])

  const again = await serve(environment, onTerminal)
  expect(again.printed()).toMatch(/Admin {6}http:\S+\/admin\n/)
  expect(setupLink.exec(again.printed())).toBeNull()
  await again.stop('SIGTERM')
  const printed = await platform<{ actor: string }[]>`
      select actor from gateway.audit_entry where action = 'administrator.invite' and detail ->> 'email' is null`
  expect(printed.map(({ actor }) => /^command line \(.+\)$/.test(actor))).toEqual([true])
})

test('a start without a terminal creates and invalidates no link, and prints the command that creates the first administrator', async () => {
  const { url, pool } = await createDatabase()
  const environment = { DATABASE_URL: url, LOG_LEVEL: 'trace' }
  const link = await inviteFirstAdministrator(pool, tester)
  const service = await serve(environment)
  const { origin } = service
  expect(service.printed()).not.toContain('/admin/setup')
  expect((await createVisitor(origin).get(`/admin/setup/${link}`)).status).toBe(200)
  expect(await invitations(pool)).toEqual([{ email: null }])

  const command = /^ *(.* admin create --email) you@example.com$/m.exec(service.printed())?.[1]
  const cwd = join(import.meta.dirname, '../../dist')
  const env = { PATH: process.env.PATH, ...environment, PORT: new URL(origin).port }
  const pasted = execFileSync('sh', ['-c', `${command} root@example.com`], { cwd, env, encoding: 'utf8' })
  const [, , made = ''] = setupLink.exec(pasted) ?? []
  const visitor = createVisitor(origin)
  expect((await visitor.submit(made, { password, again: password })).status).toBe(303)
  await service.stop('SIGTERM')

  const again = await serve(environment)
  expect(again.printed()).not.toContain('admin create')
  await again.stop('SIGTERM')
})

describe('admin create prints a link with the address in use', () => {
  const create = async (environment: NodeJS.ProcessEnv) => {
    const { code, stdout, stderr } = await run(['admin', 'create', '--email', 'ann@example.com'], environment)
    expect(code, stderr).toBe(0)
    const [, origin, path = ''] = setupLink.exec(stdout) ?? []
    return { origin, path, assumed: stdout.includes('The address is from HOST and PORT.') }
  }

  test('for a data directory: the address of its service, even when variables of the command differ', async () => {
    const DATA_DIR = createDirectory()
    const environment = { DATA_DIR, LOG_LEVEL: 'warn' }
    const service = await serve(environment)
    const { origin } = service
    const link = await create({ ...environment, PORT: '9000', PUBLIC_URL: 'https://elsewhere.example.com' })
    expect(link).toMatchObject({ origin, assumed: false })
    expect((await createVisitor(origin).get(link.path)).status).toBe(200)
    await service.stop('SIGTERM')
    expect(await create(environment)).toMatchObject({ origin: 'http://127.0.0.1:8080', assumed: true })

    const everywhere = await serve({ ...environment, HOST: '0.0.0.0' })
    const { port } = new URL(everywhere.origin)
    expect(await create(environment)).toMatchObject({ origin: `http://localhost:${port}`, assumed: false })
    await everywhere.stop('SIGKILL')
    // A killed service cannot delete its stored address, so the command must ignore that address.
    await expect.poll(() => existsSync(join(DATA_DIR, 'postgres/postmaster.pid')), { timeout: 60_000 }).toBe(false)
    expect(await create(environment)).toMatchObject({ origin: 'http://127.0.0.1:8080', assumed: true })
  })

  test.each([
    [{ HOST: '::', PORT: '9000' }, 'http://localhost:9000', true],
    [{ HOST: '::1' }, 'http://[::1]:8080', true],
    [{ PORT: '9000', PUBLIC_URL: 'https://gateway.example.com' }, 'https://gateway.example.com', false],
  ])('for an external database, with %j: %s', async (environment, origin, assumed) => {
    expect(await create({ DATABASE_URL: shared.url, ...environment })).toMatchObject({ origin, assumed })
  })
})

describe('admin', () => {
  test('create prints a link, and with --password-stdin it creates the administrator at once', async () => {
    const { url, pool } = await createDatabase()
    const environment = { DATABASE_URL: url }
    const linked = { code: 0, stderr: '', stdout: expect.stringMatching(setupLink) }
    for (const address of ['Ann@Example.com', 'ann@example.com'])
      expect(await run(['admin', 'create', '--email', address], environment)).toEqual(linked)
    expect(await invitations(pool)).toEqual([{ email: 'ann@example.com' }])
    expect((await run(['admin', 'list'], environment)).stdout).toContain('There are no administrators.')

    const options = ['admin', 'create', '--email', 'bob@example.com', '--password-stdin']
    const made = await run(options, environment, { input: `${password}\n` })
    expect(made).toEqual({ code: 0, stderr: '', stdout: expect.not.stringContaining(password) })
    const short = { code: 2, stderr: expect.stringContaining('at least 12 characters') }
    expect(await run(options, environment, { input: 'short\n' })).toMatchObject(short)
    expect((await run(options, environment, { input: '' })).code).toBe(2)

    const service = await serve({ ...environment, LOG_LEVEL: 'warn' })
    const visitor = createVisitor(service.origin)
    expect((await visitor.submit('/admin/login', { email: 'bob@example.com', password })).status).toBe(303)
    expect((await visitor.get('/admin/account')).status).toBe(200)
    // A second `admin create` with the same e-mail resets the password, and ends the open sessions.
    expect((await run(options, environment, { input: 'another long password\n' })).code).toBe(0)
    expect((await visitor.get('/admin/account')).status).toBe(303)
    await service.stop('SIGTERM')
    const [entry] = await pool<{ actor: string }[]>`select actor from gateway.audit_entry order by id limit 1`
    expect(entry?.actor).toMatch(/^command line \(.+\)$/)
  })

  test('list shows the administrators, and remove refuses to remove the last administrator', async () => {
    const { url, pool } = await createDatabase()
    const environment = { DATABASE_URL: url }
    for (const email of ['ann@example.com', 'bob@example.com']) await createAdministrator(pool, tester, email, password)
    const listed = await run(['admin', 'list', '--json'], environment)
    expect(JSON.parse(listed.stdout)).toMatchObject([{ email: 'ann@example.com' }, { email: 'bob@example.com' }])
    // The start of a password hash: `scrypt` in base64.
    expect(listed.stdout).not.toMatch(/c2NyeXB0/)
    expect((await run(['admin', 'remove', 'BOB@example.com'], environment)).code).toBe(0)
    const last = { code: 2, stderr: expect.stringContaining('The last administrator cannot be removed') }
    expect(await run(['admin', 'remove', 'ann@example.com'], environment)).toMatchObject(last)
    expect((await run(['admin', 'remove', 'bob@example.com'], environment)).code).toBe(1)
  })
})
