/** Starts the service, its commands and the contenders, each in a separate process. */
import { execFile, spawn } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'

/** A server in a separate process. */
export interface Running {
  pid: number
  origin: string
  stop(): Promise<void>
}

const startTimeoutMs = 60_000

/** The time that a process may take to end after SIGTERM before it gets SIGKILL, in milliseconds. */
const stopTimeoutMs = 5_000

/** The environment that all processes share: none of the caller's own settings. */
export const baseEnvironment: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  HOME: process.env.HOME,
  NODE_ENV: 'production',
}

/**
 * Starts a server that writes its origin to standard output, or to standard error as the service does, apart from its log.
 *
 * @param options.cwd the working directory; this process's own when absent
 * @param options.detached true when it starts more processes, as npm does: `stop` ends all of them
 * @throws when the process ends before that, or takes longer than a minute
 */
export function startProcess(
  command: string,
  args: string[],
  environment: NodeJS.ProcessEnv,
  options: { cwd?: string; detached?: boolean } = {},
): Promise<Running> {
  // The contenders read standard input and end with it, so that none outlives this process.
  const child = spawn(command, args, { env: environment, stdio: 'pipe', ...options })
  const kill = (signal: NodeJS.Signals) => {
    if (options.detached && child.pid !== undefined) process.kill(-child.pid, signal)
    else child.kill(signal)
  }
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const stop = async () => {
    kill('SIGTERM')
    await Promise.race([ended, sleep(stopTimeoutMs, undefined, { ref: false })])
    child.kill('SIGKILL')
    await ended
  }
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`${args.join(' ')} ${why}`))
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      fail(`did not start within ${startTimeoutMs / 1000} s`)
    }, startTimeoutMs)
    child.once('error', reject)
    child.once('exit', code => {
      clearTimeout(timer)
      fail(`ended with ${code}`)
    })
    let output = ''
    const readOrigin = (text: string) => {
      output += text
      const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(output) ?? []
      if (origin === undefined || child.pid === undefined) return
      clearTimeout(timer)
      resolve({ pid: child.pid, origin, stop })
    }
    child.stdout.setEncoding('utf8').on('data', readOrigin)
    child.stderr.setEncoding('utf8').on('data', readOrigin).pipe(process.stderr)
  })
}

/** A compiled service and the database that it works on. */
export interface Installation {
  /** The directory that holds its package.json and dist. */
  checkout: string
  databaseUrl: string
}

/**
 * Starts the service.
 *
 * @param options.nodeOptions options of Node itself
 * @param options.settings environment variables that differ from the variables of every benchmark
 */
export const startService = (
  { checkout, databaseUrl }: Installation,
  options: { nodeOptions?: string[]; settings?: NodeJS.ProcessEnv } = {},
): Promise<Running> =>
  startProcess(
    process.execPath,
    [...(options.nodeOptions ?? []), 'dist/main.js', 'serve'],
    {
      ...baseEnvironment,
      DATABASE_URL: databaseUrl,
      DATABASE_POOL: '10',
      PORT: '0',
      RATE_LIMIT_PER_MINUTE: '1000000',
      LOG_LEVEL: 'warn',
      ...options.settings,
    },
    { cwd: checkout },
  )

const execute = promisify(execFile)

/**
 * Runs a command of the service's command line, such as `migrate`.
 *
 * @returns its standard output
 * @throws when it fails, with what it writes to standard error
 */
export async function runCommand({ checkout, databaseUrl }: Installation, ...args: string[]): Promise<string> {
  const environment = { ...baseEnvironment, DATABASE_URL: databaseUrl }
  const { stdout } = await execute(process.execPath, ['dist/main.js', ...args], { cwd: checkout, env: environment })
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
