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
const answers: string[] = []
app.addHook('onSend', async request => {
  answers.push(request.url)
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
let refused = () => {}
const refusal = new Promise<void>(resolve => {
  refused = resolve
})
app.post('/late', async () => {
  await refusal
  return 'late'
})
app.post('/unasked', { onRequest: () => refusal }, () => 'late')
const origin = await app.listen({ host: '127.0.0.1', port: 0 })

test('an answer that has begun in time may take longer', async () => {
  const answer = await fetch(`${origin}/stream`)
  expect(answer.status).toBe(200)
  expect(await answer.text()).toBe('begun, and ended')
})

test('a body that the service did not come to read is not a slow one', async () => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify('-'.repeat(500_000))
  const answer = await fetch(`${origin}/unasked`, { method: 'POST', headers, body })
  expect(answer.status).toBe(503)
  // What is left of it is not waited for.
  expect(answer.headers.get('connection')).toBe('close')
})

test('what is said after a refusal is not sent', async () => {
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${origin}/late`, { method: 'POST', headers, body: '{}' })
  expect(answer.status).toBe(503)
  refused()
  expect((await fetch(`${origin}/stream`)).status).toBe(200)
  expect(answers.filter(url => url === '/late')).toHaveLength(1)
})
