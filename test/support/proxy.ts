import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/**
 * Starts a TCP proxy in front of a server.
 *
 * @param target returns the port of the server, or its Unix socket, for each connection
 * @param port the port on which the proxy listens; 0 for any free port
 */
export async function startProxy(target: () => number | string, port = 0) {
  const sockets = new Set<Socket>()
  const backends = new Set<Socket>()
  let silent = false
  let accepted = 0
  const keep = (socket: Socket) => {
    sockets.add(socket)
    return socket.on('error', () => {}).on('close', () => sockets.delete(socket))
  }
  const server = createServer({ pauseOnConnect: true }, client => {
    accepted++
    keep(client)
    if (silent) return
    const to = target()
    const backend = keep(typeof to === 'number' ? connect(to, '127.0.0.1') : connect(to))
    backends.add(backend)
    client.pipe(backend).pipe(client)
    client.on('close', () => backend.destroy())
    backend.on('close', () => {
      backends.delete(backend)
      client.destroy()
    })
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  const cut = () => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    port: (server.address() as AddressInfo).port,
    accepted: () => accepted,
    /** Closes all connections, as when the address of a cluster moves to another server. */
    cut,
    /** Holds back the answers of all open connections. @returns a function that releases the answers */
    hold() {
      for (const backend of backends) backend.pause()
      return () => {
        for (const backend of backends) backend.resume()
      }
    },
    /**
     * Silences all open connections forever, and new connections until `accept`: no byte passes, and no connection is
     * closed.
     */
    silence() {
      silent = true
      for (const socket of sockets) socket.removeAllListeners('close').unpipe().pause()
    },
    /** Forwards new connections from now on. */
    accept() {
      silent = false
    },
    stop() {
      cut()
      server.close()
    },
  }
}
