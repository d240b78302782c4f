/** When a caller disconnects while its request is under way, the service does nothing more for the request. */
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { listRequestCounts, listRequestErrors } from '../../src/domain/token/request-count.ts'
import { bearer, createWorld } from '../rest/support.ts'
import { createApp, v1 } from '../support/app.ts'
import { connect, serviceRole } from '../support/connect.ts'
import { untilLockWaits } from '../support/locks.ts'
import { collectLog } from '../support/log.ts'
import { openSocket } from '../support/sockets.ts'
import { until } from '../support/until.ts'

const world = await createWorld()
const { build, platform, address, tenantId } = world
const pool = connect(address, { max: 10, statementTimeoutMs: 10_000, waitTimeoutMs: 4_500, role: serviceRole })
const { log, lines } = collectLog()
const client = await createApp({ pool }, { LOG_LEVEL: 'warn' }, log)
const { port } = new URL(await client.app.listen({ host: '127.0.0.1', port: 0 }))

/** Sends a request, disconnects while the first statement waits for a locked table, and then unlocks the table. */
async function askAndDisconnect(table: string, path: string, headers: Record<string, string>): Promise<void> {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  const accepted = once(client.app.server, 'connection')
  await platform.begin(async sql => {
    await sql`lock table ${sql(table)}`
    const { socket } = openSocket(Number(port))
    socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`)
    await untilLockWaits(platform)
    const [server] = await accepted
    const closed = once(server, 'close')
    socket.destroy()
    await closed
  })
}

const recorded = (action: string) => platform`select id from gateway.audit_entry where action = ${action}`

test('a caller that disconnects during the lookup of its token counts as 499, and nothing is read', async () => {
  const query = encodeURIComponent(`{ tenant(id: ${tenantId}) { purchasedVouchers { nodes { reference } } } }`)
  for (const path of [`${v1}/tenants/${tenantId}/customers/marketing-signups`, `/graphql?query=${query}`]) {
    const token = await build.token([tenantId])
    await askAndDisconnect('gateway.token', path, { host: 'x', accept: 'application/json', ...bearer(token.secret) })
    await until('it is counted', async () => (await listRequestCounts(world.pool, token.id, 2)).length > 0, 10_000)
    expect(await listRequestCounts(world.pool, token.id, 2)).toMatchObject([{ status: 499, requests: 1 }])
    expect(await listRequestErrors(world.pool, token.id, 2)).toEqual([])
  }
  expect(await recorded('customer.export')).toHaveLength(0)
  expect(lines()).toEqual([])
})
