import type { ChildProcess } from 'node:child_process'
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { afterFile } from './cleanups.ts'
import { until } from './until.ts'

/** Lets a server listen on this machine until the tests of the file end. @returns its port */
export async function listen(server: Server, host = '127.0.0.1'): Promise<number> {
  server.listen(0, host)
  await once(server, 'listening')
  afterFile(() => server.close())
  return (server.address() as AddressInfo).port
}

/**
 * Returns a random port on which no program listens. Linux and macOS use higher ports for connections and for servers
 * on port 0, so neither can take this port while its server starts or restarts.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 32_768)
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
  } catch {
    return freePort()
  }
  server.close()
  await once(server, 'close')
  return port
}

export async function canConnect(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const connected = await once(socket, 'connect').catch(() => null)
  socket.destroy()
  return connected !== null
}

/** Waits until a program listens on a port. @throws Error when the process of the program ends, or after 10 seconds */
export const untilListening = (name: string, port: number, child: ChildProcess) =>
  until(`${name} listens`, () => {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}.`)
    return canConnect(port)
  })
