import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { connect, type Pool } from '../../src/db/connect.ts'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { type Client, createApp } from '../support/app.ts'
import { type Builders, createBuilders, tester } from '../support/builders.ts'
import { createDatabase, type TestDatabase } from '../support/database.ts'

let build: Builders
let database: TestDatabase
let instances: Client[]
let pool: Pool

beforeAll(async () => {
  database = await createDatabase()
  build = createBuilders(database)
  pool = connect(database.address, { max: 2, statementTimeoutMs: 10_000 })
  instances = [await createApp(database), await createApp({ pool })]
})

afterAll(() => pool.end())

const statusOf = async (instance: Client, secret: string) =>
  (await instance.graphql(secret, '{ viewer { name } }')).status

/** Sends requests, as a busy integration does, until one is rejected. */
async function untilRefused(instance: Client, secret: string, deadline: number): Promise<void> {
  for (;;) {
    const sent = performance.now()
    if ((await statusOf(instance, secret)) === 401) return
    if (sent > deadline) throw new Error('still not rejected')
    await sleep(10)
  }
}

it('rejects a revoked token at every instance within a second', async () => {
  const { id, secret } = await build.token([])
  for (const instance of instances) expect(await statusOf(instance, secret)).toBe(200)
  await revokeToken(database.pool, tester, id)
  const deadline = performance.now() + 1000
  await Promise.all(instances.map(instance => untilRefused(instance, secret, deadline)))
  for (const instance of instances) {
    const { status, body, headers } = await instance.graphql(secret, '{ viewer { name } }')
    expect(status).toBe(401)
    expect(headers['www-authenticate']).toBe('Bearer')
    expect(body).toEqual({
      errors: [{ message: 'A valid bearer token is required.', extensions: { code: 'UNAUTHENTICATED' } }],
    })
  }
})

it('rejects a token from the moment it expires', async () => {
  const expiresAt = new Date(Date.now() + 2_000)
  const { secret } = await build.token([], { expiresAt })
  for (const instance of instances) expect(await statusOf(instance, secret)).toBe(200)
  while (Date.now() <= expiresAt.getTime()) await sleep(10)
  for (const instance of instances) expect(await statusOf(instance, secret)).toBe(401)
})

it('accepts a token as soon as it is created, also when it was rejected before', async () => {
  const { secret } = await build.token([])
  const unknown = secret.slice(0, -1) + (secret.endsWith('0') ? '1' : '0')
  for (const instance of instances) {
    expect(await statusOf(instance, unknown)).toBe(401)
    expect(await statusOf(instance, secret)).toBe(200)
  }
})
