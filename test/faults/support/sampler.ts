import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { until } from '../../support/until.ts'
import type { FaultServer } from './server.ts'

/** The resources that a process uses at one time. */
export interface Sample {
  /** Resident memory, in MiB. */
  residentMb: number
  descriptors: number
  /** The number of listeners of the process, plus the largest number of a socket or server. */
  listeners: number
  /** The number of its connections to the database. */
  backends: number
}

export const residentMb = (pid: number) =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

const directory = mkdtempSync(join(tmpdir(), 'gateway-samples-'))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
const file = join(directory, 'listeners')

/** A module that the service loads first. On SIGUSR2, the module writes the number of listeners to a file. */
export const samplePreload = `data:text/javascript,${encodeURIComponent(`
import { writeFileSync, renameSync } from 'node:fs'
const count = emitter => emitter.eventNames?.().reduce((sum, name) => sum + emitter.listenerCount(name), 0) ?? 0
process.on('SIGUSR2', () => {
  const most = Math.max(0, ...process._getActiveHandles().map(count))
  writeFileSync(${JSON.stringify(`${file}.new`)}, String(count(process) + most))
  renameSync(${JSON.stringify(`${file}.new`)}, ${JSON.stringify(file)})
})`)}`

/** Creates a function that takes a sample of a process. The function fails while the database does not answer. */
export function createSampler(pid: number, server: FaultServer, database: string): () => Promise<Sample> {
  return async () => {
    rmSync(file, { force: true })
    process.kill(pid, 'SIGUSR2')
    const sessions = await server.use(
      database,
      sql => sql`select from pg_stat_activity where application_name = 'voucher-gateway'`,
    )
    await until('the process writes how many listeners it has', () => existsSync(file), 2_000)
    return {
      residentMb: Math.round(residentMb(pid)),
      descriptors: readdirSync(`/proc/${pid}/fd`).length,
      listeners: Number(readFileSync(file, 'utf8')),
      backends: sessions.length,
    }
  }
}
