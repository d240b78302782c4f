import { expect, test } from 'vitest'
import { deleteFormerKeys, rotateKeys } from '../../src/domain/record/signing-key.ts'
import { type Client, createApp } from '../support/app.ts'
import { tester } from '../support/builders.ts'
import { checkToken } from '../support/check-token.ts'
import { createDatabase } from '../support/database.ts'
import { until } from '../support/until.ts'

const database = await createDatabase()
const { pool, platform, build } = database
const tenantId = await build.tenant()
await build.voucher(tenantId, { reference: 'ONE' })
const { secret } = await build.token([tenantId])
// Both instances start on a database without a key.
const instances = await Promise.all([createApp(database), createApp(database)])
const [first, second] = instances

const read = ({ ask }: Client, headers = {}) => ask({ url: '/.well-known/jwks.json', headers })
const idsOf = async (client: Client): Promise<string[]> =>
  (await read(client)).body.keys.map(({ kid }: { kid: string }) => kid)
const issue = async (client: Client): Promise<string> =>
  (await client.resolve(secret, tenantId, { voucher_reference: 'ONE' })).body.data.redemption_token

/**
 * Checks a token with the public keys of each instance. @returns the id of the key of the token, and the result per
 * instance
 */
async function checkEverywhere(token: string) {
  const checks = await Promise.allSettled(instances.map(instance => checkToken(instance, token)))
  const [header = ''] = token.split('.')
  return { kid: JSON.parse(`${Buffer.from(header, 'base64url')}`).kid, valid: checks.map(({ status }) => status) }
}
const everywhere = ['fulfilled', 'fulfilled']
const nowhere = ['rejected', 'rejected']

/** Makes the keys older by this number of hours. */
const makeOlder = (hours: number) =>
  platform`update gateway.signing_key set signs_from = signs_from - ${hours} * interval '1 hour'`

/** Waits until both instances publish exactly these keys. */
const untilPublished = (kids: readonly string[]) =>
  until('both instances publish the keys', async () => {
    const published = await Promise.all(instances.map(idsOf))
    return published.every(each => each.toSorted().join() === kids.toSorted().join())
  })

const [kid = ''] = await idsOf(first)

test('the public keys are readable without a token, and caches may keep them for five minutes', async () => {
  const { status, headers, body } = await read(first)
  expect([status, headers['cache-control'], headers['access-control-allow-origin']]).toEqual([
    ...[200, 'public, max-age=300', '*'],
  ])
  const coordinate = expect.stringMatching(/^[\w-]{43}$/)
  expect(body).toEqual({
    keys: [{ crv: 'P-256', kty: 'EC', x: coordinate, y: coordinate, kid: coordinate, alg: 'ES256', use: 'sig' }],
  })
  const unchanged = await read(first, { 'if-none-match': headers.etag })
  expect([unchanged.status, unchanged.text, unchanged.headers.etag]).toEqual([304, '', headers.etag])
  expect(headers).not.toHaveProperty('ratelimit-limit')
})

test('all instances publish a new key before it signs, and the former key until its last token expires', async () => {
  const former = await issue(first)
  const next = await rotateKeys(pool, tester, false)
  await untilPublished([kid, next])
  for (const instance of instances)
    expect(await checkEverywhere(await issue(instance))).toEqual({ kid, valid: everywhere })
  await makeOlder(1 / 6)
  for (const instance of instances)
    await until('it signs with the new key', async () => (await checkEverywhere(await issue(instance))).kid === next)
  expect(await checkEverywhere(await issue(second))).toEqual({ kid: next, valid: everywhere })
  await makeOlder(24)
  await deleteFormerKeys(pool)
  expect((await checkEverywhere(former)).valid).toEqual(everywhere)
  await makeOlder(1)
  await deleteFormerKeys(pool)
  await untilPublished([next])
  const [entry] = await platform`select actor, detail from gateway.audit_entry where action = 'signing_key.rotate'`
  expect(entry).toEqual({ actor: 'tester', detail: { kid: next, isLost: false } })
})

test('after a rotation with a lost key, that key is removed at once, and its tokens are invalid', async () => {
  const former = await issue(first)
  const next = await rotateKeys(pool, tester, true)
  await untilPublished([next])
  expect((await checkEverywhere(former)).valid).toEqual(nowhere)
  expect(await checkEverywhere(await issue(first))).toEqual({ kid: next, valid: everywhere })
})

test('with keys in the configuration, only those are used: the first key signs, and all are published', async () => {
  const app = await createApp(database, { REDEMPTION_KEYS: `${'ab'.repeat(32)}, ${'cd'.repeat(32)}` })
  const published = await idsOf(app)
  expect(published).toHaveLength(2)
  expect((await checkToken(app, await issue(app))).protectedHeader.kid).toBe(published[0])
})
