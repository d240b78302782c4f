/**
 * Tests the command `listen` as a user runs it, with a real service and a real receiver. Each of the three restarts.
 */
import { existsSync, readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { verifyWebhook } from '../../packages/client/src/index.ts'
import { arrayText } from '../../src/db/sql.ts'
import { createBuilders } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { freePort, listen } from '../support/free-port.ts'
import { run, serve, start } from '../support/process.ts'
import { until } from '../support/until.ts'

const database = await createDatabase()
const { platform } = database
const build = createBuilders(database)
const tenant = await build.tenant()
const { secret: token, id } = await build.token([tenant])
const port = await freePort()
const origin = `http://127.0.0.1:${port}`
const startService = () => serve({ DATABASE_URL: database.url, PORT: String(port) })
let service = await startService()
const environment = { VOUCHER_GATEWAY_TOKEN: token, VOUCHER_GATEWAY_URL: origin }
const secretVariable = 'VOUCHER_GATEWAY_WEBHOOK_SECRET'
const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`

interface Message {
  type: string
  tenant_id: number
  updated_since: string | null
  server_time: string
  url: string
}

/** Starts a receiver that verifies the signature of each message. */
async function startReceiver() {
  const messages: (Message & { id: string; at: number; accepted: boolean })[] = []
  const answers: number[] = []
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const body = Buffer.concat(chunks)
    const isSigned = await verifyWebhook(body, request.headers, secret).then(Boolean, () => false)
    const isFresh = Math.abs(Date.now() / 1000 - Number(request.headers['webhook-timestamp'])) < 5
    const status = isSigned && isFresh ? (answers.shift() ?? 204) : 401
    const id = String(request.headers['webhook-id'])
    messages.push({ ...JSON.parse(`${body}`), id, at: performance.now(), accepted: status < 300 })
    response.writeHead(status).end()
  })
  const at = await listen(server)
  afterFile(() => server.closeAllConnections())
  const accepted = () => messages.filter(each => each.accepted)
  return { url: `http://127.0.0.1:${at}/hook`, messages, answers, accepted }
}

const startForwarding = (
  to: string,
  args: string[] = [],
  variables: NodeJS.ProcessEnv = { [secretVariable]: secret },
) => start(['listen', '--forward-to', to, ...args], { ...environment, ...variables })

/** Returns the position in a state file; undefined when the file does not exist. */
function readPosition(state: string): { serverTime: string; epoch: number } | undefined {
  return existsSync(state) ? JSON.parse(readFileSync(state, 'utf8')).position : undefined
}

/**
 * Sells vouchers.
 *
 * @returns a function that returns true when the addresses of the received messages list each of these vouchers
 */
async function sell(count: number) {
  const ids: number[] = []
  for (let n = 0; n < count; n++) ids.push(await build.voucher(tenant))
  return async (messages: Message[]) => {
    const stamps = await platform<{ at: string }[]>`
      select to_char(updated_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at from gateway.voucher where id = any(${arrayText(ids)}::text::bigint[])`
    const leads = ({ at }: { at: string }) =>
      messages.some(each => (each.updated_since ?? '') <= at && at <= each.server_time)
    return stamps.length === count && stamps.every(leads)
  }
}

test('posts a signed message for each change, and the address in the message lists the changed records', async () => {
  const { url, messages } = await startReceiver()
  const { child, ended, printed } = startForwarding(url, ['--list', 'purchased-vouchers'])
  await until('it has begun', () => printed().includes('Forwards the changes'))
  await build.voucher(tenant)
  await until('a change is posted', () => messages.length > 0)
  const [first] = messages
  expect(first).toMatchObject({
    ...{ type: 'purchased_vouchers.changed', tenant_id: tenant, id: expect.stringMatching(/^msg_/) },
    url: `${origin}/api/external/v1/tenants/${tenant}/sales/purchased-vouchers?updated_since=${encodeURIComponent(first?.updated_since ?? '')}`,
  })
  await until('it is printed', () =>
    printed().includes(`purchased_vouchers.changed of tenant ${tenant}: accepted with 204.`),
  )
  expect(printed()).not.toContain('whsec_')
  child.kill('SIGTERM')
  expect(await ended).toBe(0)
})

test('loses no change when the service, the receiver or the command restarts', async () => {
  const state = join(createDirectory(), 'position')
  const { url, messages, accepted, answers } = await startReceiver()
  let listener = startForwarding(url, ['--state', state])
  await until('it has a position', () => readPosition(state))
  answers.push(503, 503, 503)
  const checks = [await sell(2)]
  await until('the receiver refuses twice', () => answers.length < 2)
  const [first, second] = messages
  expect(second!.at - first!.at, 'one message a second at most').toBeGreaterThan(950)
  listener.child.kill('SIGKILL')
  checks.push(await sell(2))
  listener = startForwarding(url, ['--state', state])
  await until('both are accepted', async () => (await checks[0]?.(accepted())) && checks[1]?.(accepted()), 30_000)
  await service.stop('SIGKILL')
  checks.push(await sell(2))
  service = await startService()
  await until('the change of the outage is accepted', () => checks[2]?.(accepted()), 30_000)
  await platform`update gateway.token set revoked_at = now() where id = ${id}`
  expect(await listener.ended).toBe(3)
  expect(listener.printed()).toContain('A valid bearer token is required.')
})

test('after a restore, or when the token gets a tenant back, posts a message to read each list from its beginning', async () => {
  const state = join(createDirectory(), 'state')
  const other = await build.tenant()
  for (const each of [tenant, other]) await build.voucher(each)
  const own = await build.token([tenant])
  const variables = { VOUCHER_GATEWAY_TOKEN: own.secret, [secretVariable]: secret }
  const { url, answers, accepted } = await startReceiver()
  let listener = startForwarding(url, ['--state', state], variables)
  await until('it has a position', () => readPosition(state))
  const { epoch } = readPosition(state)!
  const wholeOf = (id: number) =>
    accepted().filter(one => one.tenant_id === id && one.type === 'purchased_vouchers.changed' && !one.updated_since)
  answers.push(...Array.from({ length: 100 }, () => 503))
  await platform`select gateway.require_full_pass()`
  await until('the receiver refuses', () => answers.length < 100)
  await until('it has named the reason', () => listener.printed().includes('the data were restored'))
  listener.child.kill('SIGKILL')
  await listener.ended
  expect([readPosition(state)?.epoch, wholeOf(tenant)]).toEqual([epoch, []])
  answers.length = 0
  listener = startForwarding(url, ['--state', state], variables)
  await until('the list is accepted', () => wholeOf(tenant).length > 0)
  expect(wholeOf(tenant)[0]?.url).toBe(`${origin}/api/external/v1/tenants/${tenant}/sales/purchased-vouchers`)
  await until('the position moves on', () => readPosition(state)?.epoch !== epoch)
  const grant = ['token', 'edit', String(own.id), '--tenant', String(tenant), String(other)]
  expect(await run(grant, { DATABASE_URL: database.url })).toMatchObject({ code: 0 })
  await until('the list of the other tenant is accepted', () => wholeOf(other).length > 0)
  listener.child.kill('SIGTERM')
  expect(await listener.ended).toBe(0)
  const narrower = ['listen', '--forward-to', url, '--state', state, '--list', 'tenants']
  const stderr = expect.stringContaining('was written for all tenants and all lists.')
  expect(await run(narrower, { ...environment, ...variables })).toMatchObject({ code: 2, stderr })
})

test('a restart with --state signs with the secret in the state file', async () => {
  const state = join(createDirectory(), 'state')
  const { secret: own } = await build.token([tenant])
  const secrets: (string | undefined)[] = []
  for (let run = 0; run < 2; run++) {
    const { child, ended, printed } = startForwarding('http://localhost:1', ['--state', state], {
      VOUCHER_GATEWAY_TOKEN: own,
    })
    await until('it has a position', () => readPosition(state) && printed().includes('signed with'))
    secrets.push(/signed with (whsec_\S+)\.$/m.exec(printed())?.[1])
    child.kill('SIGTERM')
    expect(await ended).toBe(0)
  }
  expect(secrets[0]).toBeDefined()
  expect(secrets[1]).toBe(secrets[0])
})

test('the program for partners has the command listen too', async () => {
  const partners = { entry: join(import.meta.dirname, '../../packages/sync/dist/main.js') }
  const { code, stdout } = await run(['listen', '--help'], {}, partners)
  expect([code, stdout]).toEqual([0, expect.stringContaining('voucher-gateway-sync listen')])
  expect((await run([], {}, partners)).stderr).toContain("required option '--to <place>' not specified")
})
