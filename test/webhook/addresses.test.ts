/**
 * Webhooks cannot reach the network of the operator, neither through the URL of an administrator nor through the DNS of
 * a partner.
 */
import { randomBytes } from 'node:crypto'
import type { LookupAddress } from 'node:dns'
import { expect, test } from 'vitest'
import { listDeliveries } from '../../src/domain/event/delivery.ts'
import { createEndpoint, getEndpoint } from '../../src/domain/event/endpoint.ts'
import { createPost } from '../../src/webhook/post.ts'
import { tester, whole } from '../support/builders.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/until.ts'
import { startReceiver } from './receiver.ts'

const { build, pool } = await startService()
const receiver = await startReceiver()
const { port } = new URL(receiver.url)
const message = { id: 'evt_1', type: 'test', body: '{}' }

/** Sends to a URL whose host name resolves to these addresses. @returns the error, or the status of the answer */
async function errorOf(url: string, networks: string[] = [], addresses: string[] = []) {
  const found: LookupAddress[] = addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
  const lookup = ((_name: string, _options: object, done: (error: null, found: LookupAddress[]) => void) =>
    done(null, found)) as never
  const { post, close } = createPost(randomBytes(32), networks, addresses.length > 0 ? lookup : undefined)
  const { error, status } = await post({ url, id: 1, secretVersion: 1, formerSigns: false }, message)
  close()
  return error ?? status
}

const refused = 'ADDRESS_NOT_ALLOWED'

/** Addresses of private and special networks, in each form that a URL may contain. */
const notPublic = [
  '127.0.0.1 127.1 0x7f000001 2130706433 0.0.0.0 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 224.0.0.1',
  '255.255.255.255 198.18.0.1 localhost [::1] [::] [fe80::1] [fc00::1] [ff02::1] [::ffff:127.0.0.1] [::ffff:a00:1]',
  '[64:ff9b::7f00:1] [2002:7f00:1::]',
]

test.each(notPublic.join(' ').split(' '))('%s is refused', async host => {
  expect(await errorOf(`https://${host}:${port}/`)).toBe(refused)
})

test('a host name is refused without a connection when any of its addresses is not public', async () => {
  for (const addresses of [['127.0.0.1'], ['93.184.215.14', '127.0.0.1'], ['2606:2800::1', '::1']])
    expect(await errorOf(`https://partner.example.com:${port}/`, [], addresses)).toBe(refused)
  expect(receiver.received).toEqual([])
})

test('of the networks that are not public, only those in WEBHOOK_NETWORKS are reached', async () => {
  expect(await errorOf(receiver.url, ['127.0.0.0/8', 'fd00::/8'])).toBe(204)
  expect(await errorOf(receiver.url, ['10.0.0.0/8'])).toBe(refused)
})

test('a service without WEBHOOK_NETWORKS sends no event to this machine, and its log gives the reason', async () => {
  const tenant = await build.tenant()
  await projected(pool)
  const token = await build.token([whole(tenant)])
  const before = receiver.received.length
  const { id } = await createEndpoint(pool, tester, token.id, receiver.url)
  await build.voucher(tenant)
  await until('a failure', async () => (await getEndpoint(pool, id)).failingSince)
  expect((await listDeliveries(pool, id, 1))[0]).toMatchObject({ status: null, error: refused })
  expect(receiver.received.length).toBe(before)
})

test.each([
  ['http://partner.example.com/', 'https'],
  ['https://partner.example.com:25/', 'above 1024'],
  ['https://user:word@partner.example.com/', 'password'],
  ['https://partner.example.com/#part', '#'],
  ['partner.example.com', 'Give a URL'],
])('the URL %s is refused, and the message names the remedy: %s', async (url, part) => {
  const { id } = await build.token([])
  await expect(createEndpoint(pool, tester, id, url)).rejects.toMatchObject({
    fieldErrors: { url: [expect.stringContaining(part)] },
  })
})
