/** Starts the service, its commands and the contenders, each in a separate process. */
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { atEnd } from './at-end.ts'
import { root } from './packages.ts'

/** A server in a separate process. */
export interface Running {
  pid: number
  origin: string
  stop(): Promise<unknown>
}

const startTimeoutMs = 60_000

/** The time that a process may take to end after SIGTERM before it gets SIGKILL, in milliseconds. */
const stopTimeoutMs = 5_000

/** The environment that all processes share. It has no settings of the caller's environment. */
const baseEnvironment: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  NODE_ENV: 'production',
}

/**
 * Starts a server that writes its origin to standard output, or to standard error as the service does, apart from its log.
 *
 * @param args the program and its options, for Node
 * @param environment the variables that differ from the shared environment
 * @throws when the process ends before it has written its origin, or takes longer than a minute
 */
export async function startProcess(
  args: string[],
  environment: NodeJS.ProcessEnv = {},
  cwd: string = root,
): Promise<Running> {
  // The contenders end when their standard input ends, so that no contender outlives this process.
  const child = spawn(process.execPath, args, { env: { ...baseEnvironment, ...environment }, stdio: 'pipe', cwd })
  const ended = once(child, 'exit')
  const stop = atEnd(async () => {
    child.kill()
    const timer = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs)
    await ended
    clearTimeout(timer)
  })
  const origin = await new Promise<string>((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`${args.join(' ')} ${why}`))
    setTimeout(() => fail(`did not start within ${startTimeoutMs / 1000} s`), startTimeoutMs).unref()
    child.once('exit', code => fail(`ended with ${code}`))
    let output = ''
    const readOrigin = (text: string) => {
      output += text
      const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
      if (found !== undefined) resolve(found)
    }
    child.stdout.setEncoding('utf8').on('data', readOrigin)
    child.stderr.setEncoding('utf8').on('data', readOrigin).pipe(process.stderr)
  })
  return { pid: child.pid!, origin, stop }
}

/** A compiled service, and the database to which it connects. */
export interface Installation {
  /** The directory that holds its package.json and dist. */
  checkout: string
  databaseUrl: string
}

/**
 * Starts the service.
 *
 * @param options.settings environment variables that differ from the variables of every benchmark
 * @param options.nodeOptions options of Node itself
 */
export function startService(
  { checkout, databaseUrl }: Installation,
  { settings, nodeOptions = [] }: { settings?: NodeJS.ProcessEnv; nodeOptions?: string[] } = {},
): Promise<Running> {
  const environment = {
    DATABASE_URL: databaseUrl,
    DATABASE_POOL: '10',
    PORT: '0',
    RATE_LIMIT_PER_MINUTE: '1000000',
    LOG_LEVEL: 'warn',
    ...settings,
  }
  return startProcess([...nodeOptions, 'dist/main.js', 'serve'], environment, checkout)
}

const execute = promisify(execFile)

/**
 * Runs a command of the service's command line, such as `migrate`.
 *
 * @returns its standard output
 * @throws when the command fails, with its standard error in the message
 */
export async function runCommand({ checkout, databaseUrl }: Installation, ...args: string[]): Promise<string> {
  const env = { ...baseEnvironment, DATABASE_URL: databaseUrl }
  const { stdout } = await execute(process.execPath, ['dist/main.js', ...args], { cwd: checkout, env })
  return stdout
}

/**
 * Creates a token that has all permissions at a tenant and at all tenants below it.
 *
 * @param settings further options of `token create`
 * @returns its secret
 */
export async function createToken(
  installation: Installation,
  tenantId: number,
  ...settings: string[]
): Promise<string> {
  const permissions = ['view_vouchers', 'view_orders', 'export_customer_information', 'redeem_vouchers']
  const scope = ['--tenant', String(tenantId), '--with-descendants', '--permission', ...permissions]
  const options = ['--name', 'Benchmark', '--json', ...scope, ...settings]
  const output = await runCommand(installation, 'token', 'create', ...options)
  const { token }: { token: string } = JSON.parse(output)
  return token
}
