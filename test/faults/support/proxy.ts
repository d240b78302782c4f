import { connect, createServer, type Socket } from 'node:net'
import { promisify } from 'node:util'

/** A TCP proxy before a server, as the address that follows the primary of a cluster. */
export interface Proxy {
  port: number
  /** Cuts all connections, as when the address moves. */
  cut(): void
  stop(): Promise<void>
}

/** @param target the port of the server, asked for each connection */
export async function startProxy(target: () => number): Promise<Proxy> {
  const open = new Set<Socket>()
  const server = createServer(client => {
    const backend = connect(target(), '127.0.0.1')
    for (const [from, to] of [
      [client, backend],
      [backend, client],
    ] as const) {
      open.add(from)
      from.pipe(to)
      from.on('error', () => to.destroy())
      from.on('close', () => {
        open.delete(from)
        to.destroy()
      })
    }
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The proxy has no port.')
  const cut = () => {
    for (const socket of open) socket.destroy()
  }
  return {
    port: address.port,
    cut,
    stop() {
      cut()
      return promisify(server.close.bind(server))()
    },
  }
}
