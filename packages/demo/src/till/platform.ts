/** The platform of the demo: the sample of the guide "Redeeming a voucher", in a separate process. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'

/** The database of the platform, and the issuer of the tokens that it checks. */
export interface PlatformOptions {
  database: { host: string; port: number; user: string; database: string }
  issuer: string
  /** The tenant of the till. */
  tenantId: number
}

/** The build bundles `docs/samples/redeeming/redeem.mts` into it. */
const program = fileURLToPath(new URL('../redeem.js', import.meta.url))

/** Ends the platform with the process that started it, even when that process is killed. */
const endWithParent = 'data:text/javascript,process.stdin.on("end",()=>process.exit()).resume().unref()'

/** Starts the platform. It listens only on this machine. @returns its origin, and what ends it */
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
  // Without a listener the error would end the service, which needs no till.
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
