import { describe, expect, test } from 'vitest'
import { createAdministrator } from '../../src/domain/administrator-password.ts'
import { formsOf } from '../admin/support.ts'
import { tester } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { run, serve } from '../support/process.ts'

const password = 'a lot of quiet water'

/** As much of a browser as a real service needs: cookies, and the origin. */
function createVisitor(origin: string) {
  const jar = new Map<string, string>()
  async function ask(path: string, body?: URLSearchParams) {
    const answer = await fetch(new URL(path, origin), {
      redirect: 'manual',
      method: body ? 'POST' : 'GET',
      headers: { cookie: [...jar].map(pair => pair.join('=')).join('; '), ...(body ? { origin } : {}) },
      ...(body ? { body } : {}),
    })
    for (const cookie of answer.headers.getSetCookie()) {
      const [name = '', value = ''] = cookie.split(';', 1)[0]?.split(/=(.*)/s) ?? []
      jar.set(name, value)
    }
    return { status: answer.status, html: await answer.text() }
  }
  return {
    jar,
    get: (path: string) => ask(path),
    async submit(path: string, fields: Record<string, string>) {
      const form = formsOf((await ask(path)).html).findLast(each => each.method === 'post')
      const filled = form?.fields ?? new URLSearchParams()
      for (const [name, value] of Object.entries(fields)) filled.set(name, value)
      return ask(form?.action ?? path, filled)
    },
  }
}

const setupLink = (printed: string) => /(http\S+)(\/admin\/setup\/[\w-]{43})\n/.exec(printed)

describe('the start', { timeout: 120_000 }, () => {
  test('prints a link while there is no administrator, a new one each time; and its log keeps secrets', async () => {
    const { url, loader } = await createDatabase()
    const environment = { DATABASE_URL: url, LOG_LEVEL: 'trace' }
    const first = await serve(environment)
    const origin = new URL(first.restAddress).origin
    expect(first.printed()).toContain(`Admin      ${origin}/admin\n`)
    const [, printedOrigin, older] = setupLink(first.printed()) ?? []
    expect(printedOrigin).toBe(origin)
    await first.stop('SIGTERM')

    const second = await serve({ ...environment, PORT: new URL(origin).port })
    const [, , link = ''] = setupLink(second.printed()) ?? []
    expect(link).not.toBe(older)
    const visitor = createVisitor(origin)
    expect((await visitor.get(older ?? '')).status).toBe(404)
    const fields = { email: 'root@example.com', password, again: password }
    expect((await visitor.submit(link, fields)).status).toBe(303)
    expect((await visitor.get('/admin/account')).status).toBe(200)

    const invited = await visitor.submit('/admin/administrators', { email: 'ann@example.com' })
    const invitation = /\/admin\/setup\/([\w-]{43})/.exec(invited.html)?.[1] ?? 'none'
    await createVisitor(origin).submit(`/admin/setup/${invitation}`, { password: 'not the same one', again: 'as this' })
    await createVisitor(origin).submit('/admin/login', { email: 'x@example.com', password: 'quite another secret' })
    await loader`alter table gateway.session rename to session_away`
    expect((await visitor.get('/admin/account')).status).toBe(500)
    await loader`alter table gateway.session_away rename to session`
    const session = decodeURIComponent(visitor.jar.get('vgw-session') ?? 'none')
    await second.stop('SIGTERM')
    // The link itself is printed; after that, nothing tells it.
    const log = second.printed().slice(second.printed().indexOf('Ctrl-C stops it.'))
    expect(log).toContain('request failed')
    for (const secret of [password, 'not the same one', 'quite another secret', invitation, link]) {
      expect(log).not.toContain(secret)
    }
    expect(log).not.toContain(session.split('.')[0])

    const third = await serve(environment)
    expect(third.printed()).toMatch(/Admin {6}http:\S+\/admin\n/)
    expect(setupLink(third.printed())).toBeNull()
    await third.stop('SIGTERM')
    const printed = await loader<{ actor: string }[]>`
      select actor from gateway.audit_entry where action = 'administrator.invite' and detail ->> 'email' is null`
    expect(printed.map(({ actor }) => /^command line \(.+\)$/.test(actor))).toEqual([true, true])
  })

  test('prints PUBLIC_URL when it is set', async () => {
    const { url } = await createDatabase()
    const service = await serve({ DATABASE_URL: url, LOG_LEVEL: 'warn', PUBLIC_URL: 'https://gateway.example.com' })
    expect(service.printed()).toContain('Admin      https://gateway.example.com/admin\n')
    expect(setupLink(service.printed())?.[1]).toBe('https://gateway.example.com')
    await service.stop('SIGTERM')
  })
})

describe('admin', { timeout: 120_000 }, () => {
  test('create makes a link; with --password-stdin an administrator at once', async () => {
    const { url, pool } = await createDatabase()
    const environment = { DATABASE_URL: url }
    const linked = await run(['admin', 'create', '--email', 'Ann@Example.com'], { ...environment, PORT: '9000' })
    expect(linked.code, linked.stderr).toBe(0)
    expect(setupLink(linked.stdout)?.[1]).toBe('http://localhost:9000')
    const publicly = { ...environment, PUBLIC_URL: 'https://gateway.example.com' }
    const again = await run(['admin', 'create', '--email', 'ann@example.com'], publicly)
    expect(setupLink(again.stdout)?.[1]).toBe('https://gateway.example.com')
    expect(await pool`select email from gateway.invitation`).toEqual([{ email: 'ann@example.com' }])
    expect((await run(['admin', 'list'], environment)).stdout).toContain('There are no administrators.')

    const options = ['admin', 'create', '--email', 'bob@example.com', '--password-stdin']
    const made = await run(options, environment, { input: `${password}\n` })
    expect(made.code, made.stderr).toBe(0)
    expect(made.stdout + made.stderr).not.toContain(password)
    const short = await run(options, environment, { input: 'short\n' })
    expect(short.code).toBe(2)
    expect(short.stderr).toContain('at least 12 characters')
    expect((await run(options, environment, { input: '' })).code).toBe(2)

    const service = await serve({ ...environment, LOG_LEVEL: 'warn' })
    const visitor = createVisitor(new URL(service.restAddress).origin)
    expect((await visitor.submit('/admin/login', { email: 'bob@example.com', password })).status).toBe(303)
    expect((await visitor.get('/admin/account')).status).toBe(200)
    // The way back in ends the sessions that there are.
    expect((await run(options, environment, { input: 'another long password\n' })).code).toBe(0)
    expect((await visitor.get('/admin/account')).status).toBe(303)
    await service.stop('SIGTERM')
    const [entry] = await pool<{ actor: string }[]>`select actor from gateway.audit_entry order by id limit 1`
    expect(entry?.actor).toMatch(/^command line \(.+\)$/)
  })

  test('list shows them, and remove removes all but the last', async () => {
    const { url, pool } = await createDatabase()
    const environment = { DATABASE_URL: url }
    for (const email of ['ann@example.com', 'bob@example.com']) {
      await createAdministrator(pool, tester, email, password)
    }
    const listed = await run(['admin', 'list', '--json'], environment)
    expect(JSON.parse(listed.stdout)).toMatchObject([
      { email: 'ann@example.com', password: true, openid: false, signed_in_at: null },
      { email: 'bob@example.com' },
    ])
    expect(listed.stdout).not.toMatch(/c2NyeXB0/)
    expect((await run(['admin', 'list'], environment)).stdout).toContain('bob@example.com')
    expect((await run(['admin', 'remove', 'BOB@example.com'], environment)).code).toBe(0)
    const last = await run(['admin', 'remove', 'ann@example.com'], environment)
    expect(last.code).toBe(2)
    expect(last.stderr).toContain('The last administrator cannot be removed')
    expect((await run(['admin', 'remove', 'bob@example.com'], environment)).code).toBe(1)
    for (const args of [['create'], ['create', '--email', 'nobody'], ['remove'], ['remove', 'nobody'], ['lost']]) {
      const wrong = await run(['admin', ...args], environment)
      expect(wrong.code, args.join(' ')).toBe(2)
      expect(wrong.stderr.trim().split('\n'), args.join(' ')).toHaveLength(1)
    }
  })
})
