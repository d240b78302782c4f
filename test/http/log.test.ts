import { beforeEach, describe, expect, it } from 'vitest'
import type { Pool } from '../../src/db/sql.ts'
import { toLoggedError } from '../../src/log.ts'
import { createBrowser } from '../admin/support.ts'
import { type Client, createApp, v1 } from '../support/app.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { collectLog, type LogLine } from '../support/log.ts'
import { onRead } from '../support/on-read.ts'
import { serve } from '../support/process.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const { build, database, platform } = await startService()

// Every text in a row or a request contains this word.
const marker = 'planted'
const tenantId = await build.tenant({ name: 'Planted tenant', subdomain: 'planted' })
await build.voucher(tenantId, {
  reference: 'PLANTED-1',
  qr_token: 'planted-qr',
  recipient_name: 'Planted Person',
  redemption_status: 'planted_status',
})
await build.customer(tenantId, { email: 'planted@example.com', surname: 'Planted', phone_number: 'planted 1' })
await build.product(tenantId, { title: 'Planted product' })
const { secret } = await build.token([tenantId], { name: 'planted token' })

/** Raises an error with the marker in every field that can contain text. */
const raising = `raise exception E'planted\\n    at planted (file:///planted.js:1:1)'
  using errcode = 'P0042', detail = 'planted detail', hint = 'planted hint', table = 'planted table'`

/** Returns statements that let the database run PL/pgSQL whenever the service searches a voucher by its reference. */
const onResolution = (body: string) => onRead('gateway.voucher_entry', body)

const brokenRow = onResolution('insert into public.other default values')

/** Failures during a resolution: the statements that cause and undo each, and the properties of its log line. */
const failures = [
  {
    name: 'a check constraint that fails',
    apply: `create table public.other (filler text default 'planted value' constraint fits check (filler is null)); ${brokenRow.apply}`,
    undo: `${brokenRow.undo}; drop table public.other`,
    err: { code: '23514', statement: 'resolution.find', table: 'other', constraint: 'fits' },
  },
  {
    name: 'a function that raises',
    ...onResolution(raising),
    err: { code: 'P0042', statement: 'resolution.find', severity: 'ERROR', routine: 'exec_stmt_raise' },
  },
  {
    name: 'a statement that takes too long',
    ...onResolution(`execute 'select pg_sleep(60) /* planted */'`),
    err: { code: '57014', statement: 'resolution.find' },
  },
]

const document = `mutation ($input: ResolveVoucherInput!) {
  resolveVoucher(input: $input) { status again: status redemptionToken voucher { reference } } }`

/** The ways to resolve the voucher, with markers in every part of the request that can contain one. */
const requests: Record<string, (client: Client, id: string) => ReturnType<Client['ask']>> = {
  REST: (client, id) => resolve(client, id, { qr_token: 'https://planted.example/?qr=planted-qr', planted: 'planted' }),
  GraphQL: (client, id) => {
    const variables = { input: { tenantId, voucherReference: 'planted-1' }, planted: 'planted' }
    return ask(client, id, '/graphql?planted=planted', { query: `${document} # planted`, variables })
  },
}
const headersOf = (id: string) => ({
  accept: 'application/json',
  authorization: `Bearer ${secret}`,
  'content-type': 'application/json',
  cookie: 'planted=planted',
  'user-agent': 'planted',
  'x-planted': 'planted',
  'x-request-id': id,
})
const ask = (client: Client, id: string, url: string, body: object) =>
  client.ask({ method: 'POST', url, headers: headersOf(id), payload: JSON.stringify(body) })
const resolve = (client: Client, id: string, body: object) =>
  ask(client, id, `${v1}/tenants/${tenantId}/redemptions/resolve?cursor=planted&planted=planted`, body)

/** Returns the places where a log contains the marker or the secret of the token. */
const findLeaks = (text: string) =>
  [...text.matchAll(new RegExp(`.{0,40}(?:${marker}|${secret}).{0,40}`, 'gi'))].map(String)

let requestCount = 0

describe('at the level trace, which writes the most lines', () => {
  const { log, text, lines } = collectLog()
  const pool = connect(database.address, { max: 4, statementTimeoutMs: 2_000, role: serviceRole })
  const createLogged = (on: Pool = pool) => createApp({ pool: on }, { LOG_LEVEL: 'trace', LOG_REQUESTS: 'all' }, log)
  let client: Client

  // Each test starts a new service, because a repeated failure is logged without a stack.
  beforeEach(async () => {
    client = await createLogged()
    return () => client.app.close()
  })

  const cases = failures.flatMap(failure => Object.entries(requests).map(([by, send]) => ({ ...failure, by, send })))
  it.each(cases)('$by: the line about $name contains nothing of the row or the request', async failure => {
    const id = `request-${++requestCount}`
    await platform.unsafe(failure.apply)
    const answer = await failure.send(client, id).finally(() => platform.unsafe(failure.undo))
    expect(answer.body.errors?.[0]?.message ?? answer.body.message).toMatch(/^The service /)
    const written = lines().filter(({ reqId, err }) => reqId === id && err)
    // On a slow machine, the failure may follow one of a background job, and is then only counted.
    const isCounted = () => lines().some(({ requestIds = [] }) => requestIds.includes(id))
    if (written.length === 0) await until('it is counted', isCounted, 3_000)
    for (const { err } of written) {
      expect(err).toMatchObject(failure.err)
      expect(err?.stack).toMatch(/^ {4}at /)
    }
    expect(findLeaks(text())).toEqual([])
  })

  it('the line about a bug of the service contains its type and stack only', async () => {
    const id = `request-${++requestCount}`
    await platform`alter table gateway.token rename column permissions to right_permissions`
    await platform`alter table gateway.token add column permissions text[]`
    // The service gets a new connection, because existing ones have prepared the statement for the old table.
    const fresh = connect(database.address, { max: 1, statementTimeoutMs: 10_000, role: serviceRole })
    const answer = await requests.REST!(await createLogged(fresh), id)
    await platform`alter table gateway.token drop column permissions`
    await platform`alter table gateway.token rename column right_permissions to permissions`
    expect(answer.text).toContain('The service failed to answer.')
    const stack = expect.stringMatching(/^( {4}at .*\n)+ {4}at requirePermissions \(\S*policy\.[jt]s:/)
    expect(lines().filter(({ reqId, err }) => reqId === id && err)).toMatchObject([
      { err: { type: 'TypeError', stack } },
    ])
    expect(findLeaks(text())).toEqual([])
  })

  it('the line about a failed form contains none of its fields', async () => {
    await platform`alter table gateway.audit_entry add constraint fits check (actor not like 'planted%') not valid`
    const browser = createBrowser(client.app)
    const fields = { email: 'planted@example.com', password: 'planted password', next: '/admin/planted' }
    const page = await browser.submit('/admin/login?next=/planted', fields, { headers: { 'x-request-id': 'the-form' } })
    await platform`alter table gateway.audit_entry drop constraint fits`
    expect(page.status).toBe(500)
    const err = { code: '23514', statement: 'administrator.record_failed_sign_in', table: 'audit_entry' }
    expect(lines().filter(line => line.reqId === 'the-form' && line.err)).toMatchObject([{ err }])
    expect(findLeaks(text())).toEqual([])
  })

  it('rejected requests are logged without their content', async () => {
    const headers = headersOf('refused')
    const { accept, authorization } = headers
    const list = `${v1}/tenants/${tenantId}/sales/purchased-vouchers`
    await client.ask({ method: 'GET', url: `${list}?cursor=planted&updated_since=planted`, headers })
    await client.ask({ method: 'GET', url: `${list}/planted`, headers })
    await client.ask({ method: 'GET', url: `${v1}/planted?planted`, headers })
    await client.ask({ method: 'GET', url: '/planted/%zz?planted', headers })
    await client.ask({ method: 'DELETE', url: list, headers })
    await client.ask({ method: 'GET', url: list, headers: { accept, authorization: 'Bearer planted' } })
    await client.ask({ method: 'GET', url: list, headers: { accept: 'planted', authorization } })
    for (const payload of ['planted', '{"planted', `"${'planted'.repeat(20_000)}"`]) {
      for (const url of [`${v1}/tenants/${tenantId}/redemptions/resolve`, '/graphql', '/admin/login']) {
        await client.ask({ method: 'POST', url, headers, payload })
      }
    }
    for (const query of ['planted', '{ planted }', 'query ($a: planted) { viewer { name } }']) {
      await client.graphql(secret, query, { planted: 'planted' })
    }
    expect(findLeaks(text())).toEqual([])
  })

  it('successful requests are logged without their content', async () => {
    for (const path of ['sales/purchased-vouchers', 'customers/marketing-signups', 'catalog/vouchers']) {
      const { status, text: body } = await client.rest(secret, `/tenants/${tenantId}/${path}`)
      expect([status, findLeaks(body).length > 0]).toEqual([200, true])
    }
    const answers = await Promise.all(Object.values(requests).map(send => send(client, 'resolved')))
    const issued = answers.flatMap(answer => answer.text.match(/[\w-]+\.[\w-]+\.[\w-]{86}/) ?? [])
    expect(issued).toHaveLength(2)
    for (const token of issued) expect(text()).not.toContain(token)
    expect(findLeaks(text())).toEqual([])
  })
})

it('failed background jobs are logged with the statement, without the row', async () => {
  const { log, text, lines } = collectLog()
  const client = await createApp(database, { LOG_LEVEL: 'warn' }, log)
  await platform.unsafe(
    `create function planted_context() returns trigger security definer language plpgsql as $x$ begin ${raising}; end $x$;
     create trigger planted before insert on gateway.request_count for each row execute function planted_context()`,
  )
  await client.rest(secret, '/tenants')
  await client.app.close()
  await platform`drop function planted_context() cascade`
  const jobs = lines().filter(({ msg }) => msg.startsWith('failed: '))
  expect(jobs.map(({ err }) => err)).toMatchObject([{ code: 'P0042', statement: 'request_count.save' }])
  expect(findLeaks(text())).toEqual([])
})

it('a repeated failure is logged once with a stack, and then counted by code and statement', async () => {
  const { log, lines } = collectLog()
  const client = await createApp(database, { LOG_LEVEL: 'info' }, log)
  const failure = onResolution(raising)
  await platform.unsafe(failure.apply)
  for (let time = 0; time < 10; time++)
    for (const [name, send] of Object.entries(requests)) await send(client, `${name}-${time}`)
  await platform.unsafe(failure.undo)
  await client.app.close()
  const withStack = lines().filter(({ err }) => err)
  expect(withStack).toMatchObject([
    { reqId: 'REST-0', level: 50 },
    { reqId: 'GraphQL-0', level: 50 },
  ])
  const counted = lines().filter(({ causes }) => causes)
  const cause = { code: 'P0042', statement: 'resolution.find' }
  expect(counted[0]?.causes).toContainEqual({ ...cause, message: 'request failed', count: expect.any(Number) })
  expect(counted[0]?.requestIds?.[0]).toBe('REST-1')
  expect(Math.max(...counted.map(({ requestIds = [] }) => requestIds.length))).toBeLessThanOrEqual(5)
  expect(counted.reduce((sum, { count = 0 }) => sum + count, 0)).toBe(20 - withStack.length)
})

it.concurrent.each([
  ['thrown', 'SIGHUP'],
  ['rejected', 'SIGUSR2'],
] as const)('an uncaught error that is %s ends the process with a line without its message', async (_how, signal) => {
  const source = `
    const error = Object.assign(new Error('planted', { cause: new Error('planted') }), { detail: 'planted', code: 'E1' })
    process.on('SIGHUP', () => { throw error })
    process.on('SIGUSR2', () => { Promise.reject(error) })`
  const service = await serve({
    DATABASE_URL: database.url,
    NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}`,
  })
  const before = service.printed().length
  expect(await service.stop(signal)).toBe(1)
  const printed = service.printed().slice(before)
  const last: LogLine = JSON.parse(printed.trim().split('\n').at(-1) ?? '')
  expect(last).toMatchObject({ level: 60, err: { code: 'E1', cause: { type: 'Error' } } })
  expect(findLeaks(printed)).toEqual([])
})

const stackOf = (message: string) => toLoggedError(new Error(message)).stack

it.each([
  '',
  '    at planted (file:///planted.js:1:1)',
  'planted\n    at planted (file:///planted.js:1:1)\n    at /planted.js:1:1',
])('an error in a log line has the stack without its message: %j', message => {
  expect(stackOf(message)).toMatch(/^ {4}at .*log\.test\.ts:\d+:\d+/)
  expect(findLeaks(stackOf(message))).toEqual([])
})

it('an error in a log line shows no message of a changed or nested error', () => {
  const changed = new Error('planted\n    at planted (file:///planted.js:1:1)')
  changed.message = 'something else'
  const named = Object.assign(new Error('x'), { name: 'the planted one', code: 'planted code', port: 'planted' })
  const circular: Error = new Error('planted')
  circular.cause = circular
  const many = new AggregateError([changed, named, new TypeError('planted'), 'planted', circular], 'planted')
  const json = new Error('planted', { cause: new SyntaxError('planted') })
  const own = Object.assign(new Error('planted'), { planted: marker, query: 'select /* planted */ 1', args: [marker] })
  for (const error of [changed, named, circular, many, json, own, 'planted', { message: 'planted' }, null]) {
    expect(findLeaks(JSON.stringify(toLoggedError(error)))).toEqual([])
  }
  const types = ['Error', 'Error', 'TypeError', 'string', 'Error']
  expect(toLoggedError(many).errors?.map(({ type }) => type)).toEqual(types)
  expect(toLoggedError(json).cause?.type).toBe('SyntaxError')
})

it('an error in a log line shows the address of a failed connection', () => {
  const refused = { code: 'ECONNREFUSED', syscall: 'connect', address: '127.0.0.1', port: 5432 }
  expect(toLoggedError(Object.assign(new Error('x'), refused))).toMatchObject(refused)
})
