import { expect, it } from 'vitest'
import { connect } from '../../src/db/connect.ts'
import { revokeToken } from '../../src/domain/token/lifecycle.ts'
import { type Client, createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { afterFile } from '../support/cleanups.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'

const { build, client, database } = await startService()
const pool = connect(database.address, { max: 2, statementTimeoutMs: 10_000 })
afterFile(() => pool.end())
const instances = [client, await createApp({ pool })]

const statusOf = async (instance: Client, secret: string) =>
  (await instance.graphql(secret, '{ viewer { name } }')).status

it('rejects a revoked token at every instance within a second', async () => {
  const { id, secret } = await build.token([])
  for (const instance of instances) expect(await statusOf(instance, secret)).toBe(200)
  await revokeToken(database.pool, tester, id)
  const isRejected = async (instance: Client) => (await statusOf(instance, secret)) === 401
  await Promise.all(instances.map(instance => until('it is rejected', () => isRejected(instance), 1_000)))
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
  const expiresAt = new Date(Date.now() + 5_000)
  const { secret } = await build.token([], { expiresAt })
  for (const instance of instances) expect(await statusOf(instance, secret)).toBe(200)
  await expect.poll(() => Date.now()).toBeGreaterThan(expiresAt.getTime())
  for (const instance of instances) expect(await statusOf(instance, secret)).toBe(401)
})
