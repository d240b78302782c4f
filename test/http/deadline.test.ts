import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import Fastify from 'fastify'
import { afterAll, expect, test } from 'vitest'
import { GatewayError } from '../../src/domain/errors.ts'
import { createFailureLog } from '../../src/failure-log.ts'
import { enforceDeadline } from '../../src/http/limits/deadline.ts'
import { closeUnfinishedRequests } from '../../src/http/limits/lingering-close.ts'
import { loggerOptions } from '../../src/log.ts'
import { collectLog } from '../support/log.ts'

const deadline = 500

const { log, lines } = collectLog()
const app = Fastify({ forceCloseConnections: true, logger: loggerOptions('warn', log) })
app.decorate('failureLog', createFailureLog(app.log))
afterAll(() => app.close())
const responses: string[] = []
app.addHook('onSend', async request => {
  responses.push(request.url)
})
app.setErrorHandler((error, _request, reply) =>
  reply.code(error instanceof GatewayError && error.code === 'UNAVAILABLE' ? 503 : 500).send({}),
)
enforceDeadline(app, { answer: deadline, body: 2 * deadline })
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
app.post('/failing', async () => {
  await released
  throw Object.assign(new Error('late'), { code: 'ECONNRESET' })
})
app.post('/unread', { onRequest: () => released }, () => 'late')
const origin = await app.listen({ host: '127.0.0.1', port: 0 })

test('a response that begins before the deadline may end after it', async () => {
  const response = await fetch(`${origin}/stream`)
  expect(response.status).toBe(200)
  expect(await response.text()).toBe('begun, and ended')
})

test('a body that the service has not started to read at the deadline is 503, not an error of the caller', async () => {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify('-'.repeat(500_000))
  const response = await fetch(`${origin}/unread`, { method: 'POST', headers, body })
  expect(response.status).toBe(503)
  // The service closes the connection instead of waiting for the rest of the body.
  expect(response.headers.get('connection')).toBe('close')
})

test('results and errors after the error response are discarded, and the errors are counted in one line', async () => {
  const options = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{}' }
  const paths = ['/late', '/late', '/failing', '/failing', '/failing']
  const answers = await Promise.all(paths.map(path => fetch(origin + path, options)))
  for (const { status } of answers) expect(status).toBe(503)
  release()
  expect((await fetch(`${origin}/stream`)).status).toBe(200)
  expect(responses.filter(url => paths.includes(url))).toHaveLength(paths.length)
  app.failureLog.close()
  expect(lines().map(({ msg }) => msg)).toEqual(['failed late', 'further failures in the last second'])
  expect(lines()[1]?.causes).toEqual([{ message: 'failed late', code: 'ECONNRESET', count: 2 }])
})
