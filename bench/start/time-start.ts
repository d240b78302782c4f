import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/support/free-port.ts'
import { root } from '../harness/packages.ts'
import { dataHome } from '../harness/seeded-database.ts'

const dataDir = `${dataHome}start`
const timeoutMs = 120_000

/** @returns whether v1 answers the demo token with 200: database, token and schema are ready */
async function answers(port: number): Promise<boolean> {
  const secretFile = `${dataDir}/demo-token`
  if (!existsSync(secretFile)) return false
  const headers = {
    accept: 'application/json',
    authorization: `Bearer ${readFileSync(secretFile, 'utf8').trim()}`,
  }
  try {
    const response = await fetch(`http://127.0.0.1:${port}/api/external/v1/tenants`, { headers })
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}

/**
 * Starts the service on a kept embedded database, and stops it after its first answer.
 *
 * @returns the milliseconds from the command to the first 200
 */
export async function timeStart(command: string, args: string[]): Promise<number> {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  const port = await freePort()
  const start = performance.now()
  const child = spawn(command, args, {
    cwd: root,
    env: {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      DATA_DIR: dataDir,
      // Set, so that a developer's .env does not name another database.
      DATABASE_URL: '',
      PORT: String(port),
      LOG_LEVEL: 'warn',
    },
    // npm starts child processes: the whole group gets the signal.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  let hasEnded = false
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve())).then(() => {
    hasEnded = true
  })
  while (!(await answers(port))) {
    if (hasEnded) throw new Error(`${command} ${args.join(' ')} ended without an answer.`)
    if (performance.now() - start > timeoutMs) throw new Error(`${command} ${args.join(' ')} does not answer.`)
    await sleep(5)
  }
  const milliseconds = performance.now() - start
  process.kill(-child.pid!, 'SIGTERM')
  await ended
  // npm may end before the service has released the database.
  while (await answers(port)) await sleep(50)
  return milliseconds
}
