import type { Server } from 'node:http'

/** Writes the origin of a listening server to standard output, and ends this process when its parent has ended. */
export function reportOrigin(server: Server): void {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('The server has no port.')
  console.log(`http://127.0.0.1:${address.port}`)
  process.stdin.resume().on('end', () => process.exit())
}
