import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { v1 } from '../support/app.ts'
import { projected } from '../support/projected.ts'
import { startService } from '../support/service.ts'
import { headOf, openSocket } from '../support/sockets.ts'
import { until } from '../support/until.ts'

const { build, client, database } = await startService()
const origin = await client.app.listen({ host: '127.0.0.1', port: 0 })

const tenants = [await build.tenant(), await build.tenant()] as const
const { secret } = await build.token([...tenants])
for (const [place, tenantId] of tenants.entries()) {
  const products = Array.from({ length: 50 }, () =>
    build.product(tenantId, { description_html: `${'ab'[place]}`.repeat(12_000) }),
  )
  await Promise.all(products)
}
await projected(database.platform)
const pathOf = (tenantId: number) => `${v1}/tenants/${tenantId}/catalog/vouchers`
const headers = { authorization: `Bearer ${secret}`, accept: 'application/json' }
/** Asks again after a 503: many slow answers of one operation are overload. */
async function dataOf(tenantId: number): Promise<string> {
  for (;;) {
    const response = await fetch(origin + pathOf(tenantId), { headers })
    const body: { data?: unknown } = JSON.parse(await response.text())
    if (response.status !== 503) return JSON.stringify(body.data)
    await pause(100)
  }
}

test('a body that waits for a slow reader does not change while other requests are answered', async () => {
  const expected = [await dataOf(tenants[0]), await dataOf(tenants[1])]
  const asked = 15
  const { socket, received } = openSocket(Number(new URL(origin).port))
  socket.pause()
  socket.write(headOf(pathOf(tenants[0]), secret).repeat(asked))
  // More bytes than the operating system buffers: the rest of the bodies wait in the service.
  for (let at = 0; at < 10; at++) expect(await dataOf(tenants[1])).toBe(expected[1])
  socket.resume()
  const answers = () => received().split(/(?=HTTP\/1\.1 \d{3} )/)
  const whole = (answer = '') =>
    answer.length - answer.indexOf('\r\n\r\n') - 4 >= Number(/content-length: (\d+)/.exec(answer)?.[1])
  await until('all is read', async () => answers().length === asked && whole(answers().at(-1)), 20_000)
  socket.destroy()
  const served = answers().filter(answer => !answer.startsWith('HTTP/1.1 503'))
  // Still more bytes than the operating system buffers.
  expect(served.length).toBeGreaterThan(10)
  for (const answer of served) {
    expect(JSON.stringify(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n'))).data) === expected[0]).toBe(true)
  }
})
