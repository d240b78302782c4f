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

/** Serves `/flood/<n>`, whose second request waits for `/other`, and records what is handled. */
async function serve() {
  const app = Fastify({ forceCloseConnections: true })
  afterAll(() => app.close())
  const handled: string[] = []
  let active = 0
  let most = 0
  let release = () => {}
  const other = new Promise<void>(resolve => {
    release = resolve
  })
  app.get('/flood/:number', async ({ url }) => {
    handled.push(url)
    most = Math.max(most, ++active)
    if (url === '/flood/1') await other
    active--
    return `<${url}>`
  })
  app.get('/other', async ({ url }) => {
    handled.push(url)
    release()
    return url
  })
  handleInOrder(app.server)
  return { handled, most: () => most, port: Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port) }
}

const paths = (count: number) => Array.from({ length: count }, (_, number) => `/flood/${number}`)

test('requests that are sent together are handled and answered one after the other, behind requests of other connections', async () => {
  const { handled, most, port } = await serve()
  const [flood, other] = [openSocket(port), openSocket(port)]
  flood.socket.write(paths(100).map(get).join(''))
  await until('the second request is handled', async () => handled.length === 2, 5_000)
  other.socket.write(get('/other'))
  await until('all are answered', async () => answersOf(flood.received() + other.received()) === 101, 5_000)
  expect(handled).toEqual(['/flood/0', '/flood/1', '/other', ...paths(100).slice(2)])
  expect(most()).toBe(1)
  expect([...flood.received().matchAll(/<(.+)>/g)].map(([, path]) => path)).toEqual(paths(100))
  for (const { socket } of [flood, other]) socket.destroy()
})

test('requests that wait on a connection are not handled after it ends', async () => {
  const { handled, port } = await serve()
  const [flood, other] = [openSocket(port), openSocket(port)]
  flood.socket.write(paths(50).map(get).join(''))
  await until('the second request is handled', async () => handled.length === 2, 5_000)
  flood.socket.resetAndDestroy()
  other.socket.write(get('/other'))
  await until('the other is answered', async () => answersOf(other.received()) === 1, 5_000)
  other.socket.write(get('/other'))
  await until('the other is answered again', async () => answersOf(other.received()) === 2, 5_000)
  expect(handled).toEqual(['/flood/0', '/flood/1', '/other', '/other'])
  other.socket.destroy()
})

test('a connection on which more than 100 requests wait is closed, at the service and at its health server', async () => {
  const { pool } = await createDatabase()
  const app = await buildServer({ config: readConfig({ HEALTH_PORT: '1', LOG_LEVEL: 'silent' }), pool })
  afterAll(() => app.close())
  let handled = 0
  for (const server of [app, app.health!]) {
    server.addHook('onRequest', async () => void handled++)
    const port = Number(new URL(await server.listen({ host: '127.0.0.1', port: 0 })).port)
    handled = 0
    const floods = Array.from({ length: 5 }, () => openSocket(port))
    for (const { socket } of floods) socket.write(get('/livez').repeat(2_000))
    await Promise.all(floods.map(({ closed }) => closed))
    expect(handled).toBeLessThanOrEqual(5 * 101)
  }
})
