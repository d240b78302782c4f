import { expect, test } from 'vitest'
import { v1 } from '../support/app.ts'
import { startService } from '../support/service.ts'
import { openSocket } from '../support/sockets.ts'

const { build, client } = await startService()
const tenantId = await build.tenant()
const { secret } = await build.token([tenantId])
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
