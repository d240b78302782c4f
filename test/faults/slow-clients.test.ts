/** Callers that are slow, send nothing, or do not read cannot keep a connection open forever. */
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { openSocket } from '../support/sockets.ts'
import { until } from '../support/until.ts'
import { isShort } from './support/form.ts'
import { fetchOperation } from './support/load.ts'
import { residentMb } from './support/sampler.ts'
import { startWorld } from './support/start.ts'
import { type Operation, operationOf } from './support/world.ts'

const { world, start } = await startWorld('slow_clients')
const service = await start()
const { port } = new URL(service.origin)
const [owner] = world.owners
const list = operationOf(world, 'vouchers')
const resolution = operationOf(world, 'resolution')
const headers = ['Host: x', 'Accept: application/json', `Authorization: Bearer ${list.secret}`]
const request = `GET ${list.path} HTTP/1.1\r\n${headers.join('\r\n')}\r\n\r\n`
/** Fields of a request whose answer has some 100 kB. */
const fields = 'purchasedVouchers(first: 100) { nodes { id reference productTitle status createdAt updatedAt } }'
const lists = Array.from({ length: 6 }, (_, index) => `list${index}: ${fields}`).join(' ')
const document = JSON.stringify({ query: `{ tenant(id: "${owner?.tenantId}") { ${lists} } }` })
const bodyHeaders = ['Content-Type: application/json', `Content-Length: ${document.length}`]
const bigRequest = `POST /graphql HTTP/1.1\r\n${[...headers, ...bodyHeaders].join('\r\n')}\r\n\r\n${document}`

const megabytes = () => residentMb(service.child.pid ?? 0)

/** Opens connections that send a text and read nothing. @returns the connections that are still open */
function openMany(count: number, text: string): Set<Socket> {
  const open = new Set<Socket>()
  for (let index = 0; index < count; index++) {
    const socket = connect(Number(port), '127.0.0.1').pause()
    open.add(socket)
    socket.on('error', () => {}).on('close', () => open.delete(socket))
    socket.write(text)
  }
  return open
}

const untilClosed = (open: Set<Socket>, timeout: number) => until('all are closed', () => open.size === 0, timeout)

/** Returns the number of connections of the service with an answer that the caller has not read. */
function unreadConnections(): number {
  const local = `:${Number(port).toString(16).toUpperCase().padStart(4, '0')}`
  return readFileSync('/proc/net/tcp', 'utf8')
    .split('\n')
    .map(line => line.trim().split(/ +/))
    .filter(([, address, , , queues]) => address?.endsWith(local) && !queues?.startsWith('00000000:')).length
}

const answers = async (operation: Operation) => (await fetchOperation(service.origin, operation)).status

describe('connections of callers', () => {
  test('that send nothing, or half a head, are closed within 15 s', async () => {
    const silent = openMany(250, '')
    const half = openMany(250, request.slice(0, 60))
    expect(await answers(list)).toBe(200)
    for (const socket of [...silent, ...half]) socket.resume()
    await Promise.all([untilClosed(silent, 15_000), untilClosed(half, 15_000)])
  })

  test('that send half a body are answered with 408 and closed within 12 s, and delay no other request', async () => {
    const body = ['Content-Type: application/json', 'Content-Length: 100', '', '{']
    const open = openMany(500, [`POST ${resolution.path} HTTP/1.1`, ...headers, ...body].join('\r\n'))
    let received = ''
    for (const socket of open) {
      socket.setEncoding('latin1').on('data', text => {
        received += text
      })
      socket.resume()
    }
    await pause(2_000)
    expect(await answers(resolution)).toBe(200)
    await untilClosed(open, 12_000)
    // A request gets 503 when it arrives while too many others are under way.
    expect(received.match(/HTTP\/1\.1 (408|503) /g)).toHaveLength(500)
  })

  // The test waits for more than a minute.
  test.skipIf(isShort)(
    'that send requests and read no answer are closed within 90 s, and memory stays bounded',
    async () => {
      const { socket, received } = openSocket(Number(port))
      socket.write(bigRequest)
      await expect.poll(() => received().length).toBeGreaterThan(80_000)
      expect(received()).toMatch(/^HTTP\/1\.1 200 /)
      expect(received()).not.toContain('"errors"')
      socket.destroy()
      const before = megabytes()
      // The answers on the first five connections fit into the kernel's buffers; the answers on the other ten do not.
      const open = openMany(5, request.repeat(40))
      await expect.poll(unreadConnections, { timeout: 10_000 }).toBe(5)
      for (const socket of openMany(10, bigRequest.repeat(100))) open.add(socket)
      await pause(10_000)
      expect(megabytes() - before).toBeLessThan(200)
      expect(unreadConnections()).toBe(15)
      // A caller that does not read cannot notice that the service closed its connection.
      await expect.poll(unreadConnections, { timeout: 80_000, interval: 500 }).toBe(0)
      for (const socket of open) socket.destroy()
    },
  )
})
