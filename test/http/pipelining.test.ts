import Fastify from 'fastify'
import { afterAll, expect, test } from 'vitest'
import { readConfig } from '../../src/config/config.ts'
import { handleInOrder } from '../../src/http/limits/pipelining.ts'
import { buildServer } from '../../src/server.ts'
import { createDatabase } from '../support/database.ts'
import { openSocket } from '../support/sockets.ts'
import { until } from '../support/until.ts'

const get = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`

const answersOf = (text: string) => text.match(/HTTP\/1\.1 200 /g)?.length ?? 0

const paths = Array.from({ length: 100 }, (_, number) => `/flood/${number}`)

test('pipelined requests are handled one after the other, and requests of other connections in between', async () => {
  const app = Fastify({ forceCloseConnections: true })
  afterAll(() => app.close())
  const handled: string[] = []
  let active = 0
  let most = 0
  let release = () => {}
  const released = new Promise<void>(resolve => {
    release = resolve
  })
  app.get('/flood/:number', async ({ url }) => {
    handled.push(url)
    most = Math.max(most, ++active)
    if (url === '/flood/1') await released
    active--
    return `<${url}>`
  })
  app.get('/other', async ({ url }) => {
    handled.push(url)
    release()
    return url
  })
  handleInOrder(app.server)
  const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)
  const [flood, other] = [openSocket(port), openSocket(port)]
  flood.socket.write(paths.map(get).join(''))
  await until('the second request is handled', async () => handled.length === 2, 5_000)
  other.socket.write(get('/other'))
  await until('all are answered', async () => answersOf(flood.received() + other.received()) === 101, 5_000)
  expect(handled).toEqual(['/flood/0', '/flood/1', '/other', ...paths.slice(2)])
  expect(most).toBe(1)
  expect([...flood.received().matchAll(/<(.+)>/g)].map(([, path]) => path)).toEqual(paths)
  for (const { socket } of [flood, other]) socket.destroy()
})

test('a connection on which more than 100 requests wait is closed, also at the health server', async () => {
  const { pool } = await createDatabase()
  const app = await buildServer({ config: readConfig({ HEALTH_PORT: '1', LOG_LEVEL: 'silent' }), pool })
  afterAll(() => app.close())
  let handled = 0
  for (const server of [app, app.health!]) {
    server.addHook('onRequest', async () => void handled++)
    const port = Number(new URL(await server.listen({ host: '127.0.0.1', port: 0 })).port)
    handled = 0
    const floods = Array.from({ length: 5 }, () => openSocket(port))
    for (const { socket } of floods) socket.write(get('/livez').repeat(150))
    await Promise.all(floods.map(({ closed }) => closed))
    expect(handled).toBeLessThanOrEqual(5 * 101)
  }
})
