import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { dataHome } from './database.ts'
import { root } from './packages.ts'
import { freePort } from './process.ts'

const dataDir = `${dataHome}start`
const patience = 120_000

/** A 200 of v1 with the demo data's token: database, token and schema are all there. */
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
 * Starts the service on a kept embedded database, and stops it when it has answered.
 *
 * @returns the milliseconds from the command to the first 200
 */
export async function timeStart(command: string, args: string[]): Promise<number> {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  const port = await freePort()
  const began = performance.now()
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
    // npm starts others: the whole group is told to stop.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = new Promise<void>(resolve => child.once('exit', () => resolve()))
  let isOver = false
  ended.then(() => {
    isOver = true
  })
  while (!(await answers(port))) {
    if (isOver) throw new Error(`${command} ${args.join(' ')} ended without an answer`)
    if (performance.now() - began > patience) throw new Error(`${command} ${args.join(' ')} does not answer`)
    await sleep(5)
  }
  const took = performance.now() - began
  process.kill(-child.pid!, 'SIGTERM')
  await ended
  // npm may be gone before the service has let go of the database.
  while (await answers(port)) await sleep(50)
  return took
}
