import type { Server } from 'node:http'

/** Tells whoever started this process where it listens, and ends it when he is gone. */
export function tellPort(server: Server): void {
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('There is no port to tell of.')
  console.log(`http://127.0.0.1:${address.port}`)
  process.stdin.resume().on('end', () => process.exit())
}
