/**
 * Fails early when another program listens on the port of `npm start`, because the build before the start takes long.
 * `serve` also checks the port (src/cli/serve/listen.ts), and reports every other error.
 */
import { lookup } from 'node:dns/promises'
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { parseArgs } from 'node:util'

if (existsSync('.env')) process.loadEnvFile('.env')
const { values } = parseArgs({ options: { port: { type: 'string' } }, strict: false })
const port = Number(values.port ?? (process.env.PORT || 8080))
const { address } = await lookup(process.env.HOST || '127.0.0.1').catch(() => ({ address: undefined }))

/** Returns whether another program listens at this address. */
const isTaken = port =>
  new Promise(resolve => {
    const server = createServer().on('error', ({ code }) => resolve(code === 'EADDRINUSE'))
    server.listen(port, address, () => server.close(() => resolve(false)))
  })

if (Number.isInteger(port) && port > 0 && port <= 65_535 && (await isTaken(port))) {
  let free = port + 1
  while (free < 65_535 && (await isTaken(free))) free++
  console.error(
    `Another program listens on port ${port}. Stop it, or choose another port, for example: npm start -- --port ${free}`,
  )
  process.exitCode = 1
}
