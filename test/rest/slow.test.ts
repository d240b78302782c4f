import { expect, test } from 'vitest'
import { v1 } from '../support/app.ts'
import { startService } from '../support/service.ts'
import { openSocket } from '../support/sockets.ts'

const { build, client } = await startService()
const tenantId = await build.tenant()
const { secret } = await build.token([tenantId])
const { port } = new URL(await client.app.listen({ host: '127.0.0.1', port: 0 }))

test.concurrent.each([
  `${v1}/tenants/${tenantId}/redemptions/resolve`,
  '/graphql',
])('a body of which only the start arrives at %s is 408, an error of its sender', async path => {
  const { socket, received, closed } = openSocket(Number(port))
  const headers = ['Host: x', `Authorization: Bearer ${secret}`, 'Accept: application/json']
  const body = ['Content-Type: application/json', 'Content-Length: 20', '', '{']
  socket.write([`POST ${path} HTTP/1.1`, ...headers, ...body].join('\r\n'))
  await closed
  expect(received()).toMatch(/^HTTP\/1\.1 408 /)
  expect(received()).toMatch(/^connection: close\r$/im)
  expect(received()).toContain('took too long to arrive')
  expect(received()).not.toMatch(/retry-after/i)
})
