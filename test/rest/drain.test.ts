import { type AddressInfo, connect } from 'node:net'
import { expect, test } from 'vitest'
import { v1 } from '../support/app.ts'
import { createWorld, until } from './support.ts'

const { client, platform, pool, secret, tenantId } = await createWorld()
await client.app.listen({ host: '127.0.0.1', port: 0 })
const { port } = client.app.server.address() as AddressInfo

test('a service that closes answers running requests, and those behind them on the same connection', async () => {
  const ask = (path: string) =>
    `GET ${v1}${path} HTTP/1.1\r\nHost: x\r\nAccept: application/json\r\nAuthorization: Bearer ${secret}\r\n\r\n`
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', chunk => {
    received += String(chunk)
  })
  const waiting = async () => {
    const [row] = await pool<{ waits: boolean }[]>`select exists (
        select from pg_locks where not granted and database = (select oid from pg_database where datname = current_database())
      ) as waits`
    return row?.waits === true
  }
  let closed: Promise<void> | undefined
  await platform.begin(async sql => {
    await sql`lock table product`
    socket.write(ask(`/tenants/${tenantId}/catalog/vouchers`))
    await until('the request is under way', waiting, 5_000)
    closed = client.app.close()
    socket.write(ask('/tenants'))
  })
  await until('both are answered', async () => received.includes('"tenant_id"'), 5_000)
  await closed
  socket.destroy()
  expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(2)
  expect(received.match(/^x-request-id: \S+/gim)).toHaveLength(2)
  expect(received).toMatch(/^connection: close/im)
})
