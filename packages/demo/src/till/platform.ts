/** Starts the platform of the demo, which is the sample of the guide "Redeeming a voucher", in a separate process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

/** The database of the platform, and the issuer of the redemption tokens that the platform checks. */
export interface PlatformOptions {
  database: { host: string; port: number; user: string; database: string }
  issuer: string
  /** The id of the tenant whose till it is. */
  tenantId: number
}

/** The build bundles `docs/samples/redeeming/redeem.mts` into it. */
const program = fileURLToPath(new URL('../redeem.js', import.meta.url))

/** Ends the platform when the process that started it ends, even by a kill. */
const endWithParent = 'data:text/javascript,process.stdin.on("end",()=>process.exit()).resume().unref()'

/**
 * Starts the platform, which listens only on this machine.
 *
 * @returns the origin of the platform, and the function that stops the platform
 */
export async function startPlatform(options: PlatformOptions): Promise<{ origin: string; stop: () => void }> {
  const { host, port, user, database } = options.database
  const own = await freePort()
  const child: ChildProcess = spawn(process.execPath, ['--import', endWithParent, program], {
    stdio: ['pipe', 'ignore', 'inherit'],
    env: {
      ...{ PGHOST: host, PGPORT: String(port), PGUSER: user, PGDATABASE: database },
      ...{ ISSUER: options.issuer, TENANT_ID: String(options.tenantId), PORT: String(own) },
    },
  })
  // Without this listener, an error of the platform would end the service, although the service works without it.
  child.on('error', error => console.error(`The platform of the demo does not start: ${error.message}`))
  return { origin: `http://127.0.0.1:${own}`, stop: () => void child.kill() }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  server.close()
  return typeof address === 'object' && address ? address.port : 0
}
