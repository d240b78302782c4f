import { join } from 'node:path'
import { expect, test } from 'vitest'
import { codeOf, createApp, createClient } from '../support/app.ts'
import { afterFile } from '../support/cleanups.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { untilLockWaits } from '../support/locks.ts'
import { onRead } from '../support/on-read.ts'
import { startProxy } from '../support/proxy.ts'
import { until } from '../support/until.ts'
import { bearer, createWorld, flawOf, operations, perform, worldReference } from './support.ts'

const world = await createWorld()
const { address, place, secret, platform } = world

/** Starts a proxy in front of the database, which the tests stop to simulate an outage. */
const startBeforeDatabase = (port?: number) => startProxy(() => join(address.host, `.s.PGSQL.${address.port}`), port)
let proxy = await startBeforeDatabase()
afterFile(() => proxy.stop())
const { port } = proxy
const connectByProxy = (max: number) =>
  connect({ ...address, host: '127.0.0.1', port }, { max, statementTimeoutMs: 5_000, role: serviceRole })
const pool = connectByProxy(4)
// This client runs no steps before a request, so the request uses the connections of the pool as they are.
const client = createClient((await createApp({ pool })).app)
const askAll = () => Promise.all(operations.map(operation => perform(client, operation, place, bearer(secret))))
const untilAllSucceed = () =>
  until('every operation is 200', async () => (await askAll()).every(({ status }) => status === 200))

test('while the database is unreachable, every operation is 503 with Retry-After, and afterwards 200', async () => {
  expect((await askAll()).map(({ status }) => status)).toEqual(operations.map(() => 200))
  for (let time = 0; time < 2; time++) {
    proxy.stop()
    for (const answer of await askAll()) {
      expect(flawOf(answer, 503)).toBeNull()
      expect(answer.headers['retry-after']).toMatch(/^[1-5]$/)
    }
    expect((await client.rest('nonsense', '/tenants')).status, 'a malformed token').toBe(401)
    proxy = await startBeforeDatabase(port)
    await untilAllSucceed()
  }
})

test('resolutions whose shared answer is lost each search their voucher again, and get separate tokens', async () => {
  // The pool has one connection, which the test cuts and the pool opens again.
  const one = createClient((await createApp({ pool: connectByProxy(1) })).app)
  const resolve = () => one.resolve(secret, Number(place.tenantId), { voucher_reference: worldReference })
  const before = await resolve()
  const waiting = onRead('gateway.voucher_entry', 'perform pg_advisory_xact_lock(26)')
  await platform.unsafe(waiting.apply)
  const lock = await platform.reserve()
  try {
    await lock`select pg_advisory_lock(26)`
    const asked = Promise.all([resolve(), resolve(), resolve()])
    await untilLockWaits(lock)
    // PostgreSQL completes the statement. Then each resolution searches again.
    proxy.cut()
    await untilLockWaits(lock, 2)
    await lock`select pg_advisory_unlock(26)`
    const tokens = [before, ...(await asked)].map(({ body }) => body.data.redemption_token)
    expect(tokens).toEqual(tokens.map(() => expect.any(String)))
    expect(new Set(tokens).size).toBe(4)
  } finally {
    lock.release()
    await platform.unsafe(waiting.undo)
  }
})

const resolution = `mutation {
  resolveVoucher(input: { tenantId: "${place.tenantId}", voucherReference: "${worldReference}" }) { status redemptionToken }
}`

test.each([
  ['53100', 'a full disk'],
  ['53300', 'too many connections'],
  ['57P05', 'an idle session that was ended'],
  ['58030', 'an error of its disk'],
  ['40P01', 'a deadlock'],
])('when the database reports %s, %s, v1 answers 503 with Retry-After, and GraphQL UNAVAILABLE', async code => {
  const raising = onRead('gateway.voucher_entry', `raise exception 'no' using errcode = '${code}'`)
  await platform.unsafe(raising.apply)
  try {
    const answer = await client.resolve(secret, Number(place.tenantId), { voucher_reference: worldReference })
    expect(flawOf(answer, 503)).toBeNull()
    expect(answer.headers['retry-after']).toMatch(/^[1-5]$/)
    // The first request plans the document, and the second uses the cached plan.
    for (let time = 0; time < 2; time++) {
      const { body, headers } = await client.graphql(secret, resolution)
      expect(body.errors[0].extensions.code).toBe('UNAVAILABLE')
      expect(headers['retry-after']).toMatch(/^[1-5]$/)
    }
  } finally {
    await platform.unsafe(raising.undo)
  }
})

test('calls succeed while a column is added, changed or dropped', async () => {
  for (const change of ['add column note text', 'alter column note type varchar(9)', 'drop column note']) {
    const asked = askAll()
    await platform.unsafe(`alter table purchased_voucher ${change}`)
    for (const { status } of [...(await asked), ...(await askAll()), ...(await askAll())]) expect(status).toBe(200)
  }
})

test('an internal error is 500 without details, and in GraphQL INTERNAL beside the data of other fields', async () => {
  const records = ['product', 'voucher', 'customer']
  for (const name of records) await platform.unsafe(`alter table gateway.${name} rename to secret_${name}`)
  try {
    const answers = await askAll()
    expect(answers[0]!.status).toBe(200)
    for (const answer of answers.slice(1)) {
      expect(flawOf(answer, 500)).toBeNull()
      expect(answer.text).not.toMatch(/secret|product|voucher|42P01/)
      expect(answer.headers['ratelimit-remaining']).toMatch(/^\d+$/)
    }
    const query = `{ tenant(id: ${place.tenantId}) { name catalogVouchers { totalCount } } }`
    const { body } = await client.graphql(secret, query)
    expect(body.data).toEqual({ tenant: { name: 'World', catalogVouchers: null } })
    const message = 'The service failed to answer. The fault has been noted.'
    expect(body.errors).toMatchObject([{ message, extensions: { code: 'INTERNAL' } }])
  } finally {
    for (const name of records) await platform.unsafe(`alter table gateway.secret_${name} rename to ${name}`)
  }
  await untilAllSucceed()
})

test('until the first fill is complete, every operation is 503', async () => {
  // This instance has not yet read a tenant.
  const { app } = await createApp(world)
  const fresh = createClient(app)
  await platform.begin(async sql => {
    await sql`lock table gateway.step_lock in exclusive mode`
    await platform`update gateway.step set is_complete = false`
    for (const operation of operations) {
      const answer = await perform(fresh, operation, place, bearer(secret))
      expect(flawOf(answer, 503), operation.name).toBeNull()
      expect(answer.headers['retry-after']).toBe('60')
      expect(answer.body.message).toContain('first time')
    }
    expect(codeOf(await fresh.graphql(secret, resolution))).toBe('UNAVAILABLE')
    await platform`update gateway.step set is_complete = true`
  })
  expect((await perform(fresh, operations[1]!, place, bearer(secret))).status).toBe(200)
})
