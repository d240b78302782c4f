import { connect, createServer, type Socket } from 'node:net'

/** A TCP proxy before a database whose connections can fall silent: no byte passes, and none is closed. */
export interface SilentProxy {
  port: number
  /** Returns the number of connections that were accepted. */
  accepted(): number
  /** Silences the connections that are open, for ever, and those that come until `accept`. */
  silence(): void
  /** Forwards connections that come from now on. */
  accept(): void
  stop(): void
}

/**
 * Starts a proxy.
 *
 * @param target the port of the database, or its Unix socket
 * @param port where it listens; 0: at any free port
 */
export async function startSilentProxy(target: number | string, port = 0): Promise<SilentProxy> {
  const sockets = new Set<Socket>()
  let silent = false
  let accepted = 0
  const keep = (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    return socket
  }
  const server = createServer({ pauseOnConnect: true }, client => {
    accepted++
    keep(client)
    if (silent) return
    const backend = keep(typeof target === 'number' ? connect(target, '127.0.0.1') : connect(target))
    client.pipe(backend)
    backend.pipe(client)
    client.on('close', () => backend.destroy())
    backend.on('close', () => client.destroy())
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The proxy has no port.')
  return {
    port: address.port,
    accepted: () => accepted,
    silence() {
      silent = true
      for (const socket of sockets) socket.removeAllListeners('close').unpipe().pause()
    },
    accept() {
      silent = false
    },
    stop() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
