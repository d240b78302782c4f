import { once } from 'node:events'
import { expect, test } from 'vitest'
import { createWorld } from '../rest/support.ts'
import { v1 } from '../support/app.ts'
import { untilLockWaits } from '../support/locks.ts'
import { headOf, openSocket } from '../support/sockets.ts'
import { until } from '../support/until.ts'

const world = await createWorld()
const { client, platform, secret, tenantId } = world
const { app } = client
const port = Number(new URL(await app.listen({ host: '127.0.0.1', port: 0 })).port)

const open = (to = port) => openSocket(to)

async function ask({ socket, received }: ReturnType<typeof open>, path: string): Promise<string> {
  const before = received().length
  socket.write(headOf(path, secret))
  await until('it is answered', async () => received().slice(before).includes('\r\n\r\n'), 5_000)
  return received().slice(before)
}

test('a service that drains answers on open and new connections, announces their close, and closes idle ones', async () => {
  const silent = open()
  const used = open()
  const pipelined = open()
  await once(silent.socket, 'connect')
  expect(await ask(used, '/livez')).not.toMatch(/^connection: close/im)
  let drained: Promise<void> | undefined
  const ended = once(pipelined.socket, 'close')
  await platform.begin(async sql => {
    await sql`lock table gateway.product`
    pipelined.socket.write(headOf(`${v1}/tenants/${tenantId}/catalog/vouchers`, secret))
    pipelined.socket.write(headOf(`${v1}/tenants/${tenantId}/catalog/vouchers/1`, secret))
    await untilLockWaits(platform)
    drained = app.drain(3_000)
    const ready = await ask(used, '/readyz')
    expect(ready).toMatch(/^HTTP\/1\.1 503 /)
    expect(ready).toMatch(/^connection: close/im)
    expect(ready).toContain('"reasons":[{"code":"SERVICE_STOPPING",')
    const fresh = open()
    expect(await ask(fresh, `${v1}/tenants`)).toMatch(/^HTTP\/1\.1 200 [\s\S]*^connection: close/im)
    await until('the listener closes', async () => !app.server.listening, 5_000)
  })
  await drained
  await ended
  expect(pipelined.received().match(/HTTP\/1\.1 (200|404) /g)).toHaveLength(2)
  expect(pipelined.received().match(/^connection: close/gim)).toHaveLength(1)
  const refused = open()
  const [error] = await once(refused.socket, 'error')
  expect(error).toMatchObject({ code: 'ECONNREFUSED' })
})
