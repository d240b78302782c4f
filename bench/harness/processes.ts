import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** A server in a process of its own. */
export interface Running {
  pid: number
  origin: string
  stop(): Promise<void>
}

const patience = 60_000

/**
 * Starts a server that says on its standard output where it listens.
 *
 * @throws when it ends before that, or takes too long
 */
export function startProcess(command: string, args: string[], environment: NodeJS.ProcessEnv): Promise<Running> {
  // What listens to its standard input ends with us, however we end.
  const child = spawn(command, args, { env: environment, stdio: ['pipe', 'pipe', 'inherit'] })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  const stop = async () => {
    child.kill('SIGTERM')
    await Promise.race([ended, sleep(5_000, undefined, { ref: false })])
    child.kill('SIGKILL')
    await ended
  }
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`${args.join(' ')} ${why}`))
    const tooLate = setTimeout(() => {
      child.kill('SIGKILL')
      fail('did not start')
    }, patience)
    child.once('error', reject)
    child.once('exit', code => {
      clearTimeout(tooLate)
      fail(`ended with ${code}`)
    })
    let said = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      said += text
      const [origin] = /http:\/\/127\.0\.0\.1:\d+/.exec(said) ?? []
      if (origin === undefined || child.pid === undefined) return
      clearTimeout(tooLate)
      resolve({ pid: child.pid, origin, stop })
    })
  })
}

/** @returns a port of this machine that nobody listened on just now */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}
