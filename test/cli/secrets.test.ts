import { connect } from 'node:net'
import { expect, test } from 'vitest'
import { permissionNames } from '../../src/domain/token/permission.ts'
import { type Form, formsOf } from '../admin/support.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { run, serve } from '../support/process.ts'

const database = await createDatabase()
const build = createBuilders(database)

/** The secrets that were used, and must not be in any output of the service. */
const secrets = new Set<string>()
const secret = (text: string): string => {
  secrets.add(text)
  return text
}

/** A browser at an origin, with its cookies, whose values are secrets. */
function createBrowser(origin: string) {
  const jar = new Map<string, string>()
  return async (path: string, form?: URLSearchParams) => {
    const response = await fetch(new URL(path, origin), {
      method: form ? 'POST' : 'GET',
      redirect: 'manual',
      headers: { cookie: [...jar].map(pair => pair.join('=')).join('; '), origin },
      ...(form && { body: form }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [name = '', value = ''] = cookie.split(';', 1)[0]?.split(/=(.*)/s) ?? []
      jar.set(name, secret(value))
    }
    return { status: response.status, html: await response.text() }
  }
}

function fill(form: Form | undefined, fields: Record<string, string>): URLSearchParams {
  const filled = new URLSearchParams(form?.fields)
  for (const [name, value] of Object.entries(fields)) filled.set(name, value)
  secret(filled.get('_csrf') ?? 'no CSRF token')
  return filled
}

test('no output of the service contains a secret that was used', async () => {
  const tenantId = await build.tenant()
  const reference = secret('REFERENCE-1')
  const qrToken = secret('qr-token-of-a-voucher')
  const email = secret('ada@example.com')
  for (let count = 0; count < 51; count++) await build.voucher(tenantId, { reference: `${reference}-${count}` })
  await build.voucher(tenantId, { reference, qr_token: qrToken })
  await build.customer(tenantId, { email: secret('customer@example.com') })
  const url = new URL(database.url)
  url.password = secret('database-password')
  const environment = { DATABASE_URL: url.href, CURSOR_KEY: secret('0123456789abcdef'.repeat(4)) }
  const openId = { PUBLIC_URL: 'http://localhost:1', OIDC_ISSUER: 'http://localhost:1', OIDC_DOMAINS: 'example.com' }
  const client = { OIDC_CLIENT_ID: 'gateway', OIDC_CLIENT_SECRET: secret('client-secret') }

  const service = await serve({ ...environment, LOG_LEVEL: 'trace', LOG_REQUESTS: 'all' })
  const origin = new URL(service.restAddress).origin.replace('127.0.0.1', 'localhost')
  const created = await run(['admin', 'create', '--email', email], environment)
  const path = /\/admin\/setup\/(\S+)/.exec(created.stdout)
  const browse = createBrowser(origin)
  const password = secret('a lot of quiet water')
  const page = await browse(`/admin/setup/${secret(path?.[1] ?? 'no link')}`)
  const set = fill(formsOf(page.html).at(-1), { password, again: password })
  expect((await browse(path?.[0] ?? '', set)).status).toBe(303)
  expect((await browse('/admin/tokens')).status).toBe(200)
  const login = fill(formsOf((await createBrowser(origin)('/admin/login')).html).at(-1), {
    email,
    password: secret('wrong one'),
  })
  expect((await browse('/admin/login', login)).status).toBeGreaterThan(300)

  const arguments_ = ['--name', 'Till', '--tenant', String(tenantId), '--json']
  const permissions = permissionNames.flatMap(name => ['--permission', name])
  const made = await run(['token', 'create', ...arguments_, ...permissions], environment)
  const token = secret(JSON.parse(made.stdout).token)
  const ask = async (target: string, body?: unknown, authorization = `Bearer ${token}`) => {
    const response = await fetch(origin + target, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { accept: 'application/json', 'content-type': 'application/json', authorization, 'user-agent': qrToken },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    })
    return { status: response.status, text: await response.text() }
  }
  const tenant = `/api/external/v1/tenants/${tenantId}`
  const list = await ask(`${tenant}/sales/purchased-vouchers`)
  const cursor = secret(JSON.parse(list.text).next_cursor)
  const document = `query ${token.slice(0, 20)} { tenant(id: ${tenantId}) { marketingSignups { nodes { email } } } }`
  const statuses: number[] = []
  const note = async (asked: ReturnType<typeof ask>) => statuses.push((await asked).status)
  const askAll = async () => {
    statuses.length = 0
    await note(ask(`${tenant}/sales/purchased-vouchers?cursor=${cursor}`))
    await note(ask(`${tenant}/customers/marketing-signups`))
    for (const body of [{ voucher_reference: reference }, { qr_token: qrToken }]) {
      const { status, text } = await ask(`${tenant}/redemptions/resolve`, body)
      statuses.push(status)
      for (const [issued] of text.matchAll(/vgr_[\w-]+/g)) secret(issued)
    }
    await note(ask('/graphql', { query: document, variables: { token } }))
    await note(ask('/graphql', { query: `{ ${qrToken.replaceAll('-', '_')} }`, operationName: token }))
    await note(ask(`${tenant}/sales/purchased-vouchers/${token}`))
    await note(ask(`${tenant}/sales/purchased-vouchers?cursor=${token}`))
    await note(ask(`/${token}?${cursor}`))
    await note(ask(tenant, undefined, `Bearer ${token}x`))
  }
  await askAll()
  expect(statuses).toEqual([200, 200, 200, 200, 200, 400, 404, 422, 404, 401])
  await new Promise(resolve =>
    connect(Number(new URL(origin).port), 'localhost')
      .end(`${token}\r\n\r\n`)
      .on('close', resolve)
      .resume(),
  )

  await database.platform`alter table purchased_voucher rename to missing`
  await database.platform`alter table customer rename to missing_too`
  await askAll()
  expect(statuses.slice(0, 4)).toEqual([500, 500, 500, 500])
  expect(await service.stop('SIGTERM')).toBe(0)
  const { stdout, stderr } = await run(['serve'], { ...environment, ...openId, ...client, PORT: 'x' })

  const output = service.printed() + stdout + stderr
  expect(output).toContain('ListPurchasedVouchers')
  expect(output).not.toMatch(/vg[wr]_|\/admin\/setup\/\w/)
  expect(secrets.size).toBeGreaterThan(15)
  expect([...secrets].filter(each => output.includes(each) || output.includes(encodeURIComponent(each)))).toEqual([])
})
