import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import { afterAll, expect, test } from 'vitest'
import { GatewayError } from '../../src/domain/errors.ts'
import { enforceDeadline } from '../../src/http/deadline.ts'
import { closeUnfinishedRequests } from '../../src/http/lingering-close.ts'

const deadline = 100

const app = Fastify({ forceCloseConnections: true })
afterAll(() => app.close())
const responses: string[] = []
app.addHook('onSend', async request => {
  responses.push(request.url)
})
app.setErrorHandler((error, _request, reply) =>
  reply.code(error instanceof GatewayError && error.code === 'UNAVAILABLE' ? 503 : 500).send(error),
)
enforceDeadline(app, deadline)
closeUnfinishedRequests(app)

async function* slowly() {
  yield 'begun, '
  await sleep(3 * deadline)
  yield 'and ended'
}
app.get('/stream', (_request, reply) => reply.send(Readable.from(slowly())))
let release = () => {}
const released = new Promise<void>(resolve => {
  release = resolve
})
app.post('/late', async () => {
  await released
  return 'late'
})
app.post('/unread', { onRequest: () => released }, () => 'late')
const origin = await app.listen({ host: '127.0.0.1', port: 0 })

test('a response that has begun in time may take longer', async () => {
  const response = await fetch(`${origin}/stream`)
  expect(response.status).toBe(200)
  expect(await response.text()).toBe('begun, and ended')
})

test('an unread body is a delay of the service, not of the caller', async () => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify('-'.repeat(500_000))
  const response = await fetch(`${origin}/unread`, { method: 'POST', headers, body })
  expect(response.status).toBe(503)
  // The service does not wait for the rest of the body.
  expect(response.headers.get('connection')).toBe('close')
})

test('a result after the error response is discarded', async () => {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(`${origin}/late`, { method: 'POST', headers, body: '{}' })
  expect(response.status).toBe(503)
  release()
  expect((await fetch(`${origin}/stream`)).status).toBe(200)
  expect(responses.filter(url => url === '/late')).toHaveLength(1)
})
