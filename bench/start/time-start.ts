import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../harness/packages.ts'
import { baseEnvironment, startProcess } from '../harness/processes.ts'
import { dataHome } from '../harness/seeded-database.ts'

const dataDir = `${dataHome}start`

/**
 * Starts the service on a kept embedded database, and stops it after its first answer to the demo token, which needs the database,
 * the token and the records.
 *
 * @returns the milliseconds from the command to the first 200
 */
export async function timeStart(command: string, args: string[]): Promise<number> {
  mkdirSync(dataDir, { recursive: true, mode: 0o711 })
  // DATABASE_URL is set, so that a developer's .env does not name another database.
  const settings = { DATA_DIR: dataDir, DATABASE_URL: '', NODE_ENV: undefined, PORT: '0', LOG_LEVEL: 'warn' }
  const start = performance.now()
  const service = await startProcess(command, args, { ...baseEnvironment, ...settings }, { cwd: root, detached: true })
  const secret = readFileSync(`${dataDir}/demo-token`, 'utf8').trim()
  const headers = { accept: 'application/json', authorization: `Bearer ${secret}` }
  while ((await fetch(`${service.origin}/api/external/v1/tenants`, { headers })).status !== 200) await sleep(5)
  const milliseconds = performance.now() - start
  await service.stop()
  // npm may end before the service has stopped the database.
  while (existsSync(`${dataDir}/postgres/postmaster.pid`)) await sleep(20)
  return milliseconds
}
