import { afterAll, expect, test } from 'vitest'
import { connect as connectPool, serviceRole } from '../../src/db/connection/connect.ts'
import { createApp, v1 } from '../support/app.ts'
import { startService } from '../support/service.ts'
import { openSocket } from '../support/sockets.ts'

const { build, client, database } = await startService()
const tenantId = await build.tenant()
const { secret } = await build.token([tenantId])
/** One connection, so that one statement keeps it busy. */
const pool = connectPool(database.address, { max: 1, statementTimeoutMs: 60_000, role: serviceRole })
afterAll(() => pool.end())
const { port } = new URL(await client.app.listen({ host: '127.0.0.1', port: 0 }))

/** Sends the start of a body and nothing after it. */
async function sendSlowly(path: string): Promise<string> {
  const { socket, received, closed } = openSocket(Number(port))
  const headers = ['Host: x', `Authorization: Bearer ${secret}`, 'Accept: application/json']
  const body = ['Content-Type: application/json', 'Content-Length: 20', '', '{']
  socket.write([`POST ${path} HTTP/1.1`, ...headers, ...body].join('\r\n'))
  await closed
  return received()
}

test.concurrent.each([
  `${v1}/tenants/${tenantId}/redemptions/resolve`,
  '/graphql',
])('a body that does not arrive at %s is 408, an error of its sender', async path => {
  const answer = await sendSlowly(path)
  expect(answer).toMatch(/^HTTP\/1\.1 408 /)
  expect(answer).toMatch(/^connection: close\r$/im)
  expect(answer).toContain('took too long to arrive')
  expect(answer).not.toMatch(/retry-after/i)
})

test.concurrent('a request that has arrived is 503 with Retry-After when there is no answer in time', async () => {
  const busy = await createApp({ pool })
  const origin = await busy.app.listen({ host: '127.0.0.1', port: 0 })
  const headers = { authorization: `Bearer ${secret}`, accept: 'application/json', 'content-type': 'application/json' }
  const list = `${v1}/tenants/${tenantId}/sales/purchased-vouchers`
  const ask = (path: string, body?: object) =>
    fetch(origin + path, { headers, ...(body && { method: 'POST', body: JSON.stringify(body) }) })
  // The token is cached now, and later requests wait for the one connection.
  expect((await ask(list)).status).toBe(200)
  let release = () => {}
  const busyUntil = new Promise<void>(resolve => {
    release = resolve
  })
  const held = pool.begin(() => busyUntil)
  const answers = await Promise.all([
    ask(list),
    ask(`${v1}/tenants/${tenantId}/redemptions/resolve`, { voucher_reference: 'any' }),
    ask('/graphql', { query: '{ tenants { nodes { name } } }' }),
  ])
  for (const answer of answers) {
    expect(answer.status).toBe(503)
    expect(answer.headers.get('retry-after')).toMatch(/^[1-5]$/)
    expect(await answer.text()).toContain('cannot answer just now')
  }
  release()
  await held
})
