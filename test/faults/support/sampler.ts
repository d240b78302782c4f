import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { FaultServer } from './server.ts'

/** The resources that a process holds at a moment. */
export interface Sample {
  /** Resident memory, in MiB. */
  residentMb: number
  /** Open file descriptors. */
  descriptors: number
  /** Listeners of the process's events and of its sockets and servers. */
  listeners: number
  /** Its connections to the database. */
  backends: number
}

const directory = mkdtempSync(join(tmpdir(), 'gateway-samples-'))
process.on('exit', () => rmSync(directory, { recursive: true, force: true }))
const file = join(directory, 'listeners')

/** A module that the service loads first: at SIGUSR2 it writes how many listeners there are. */
export const samplePreload = `data:text/javascript,${encodeURIComponent(`
import { writeFileSync, renameSync } from 'node:fs'
const count = emitter => emitter.eventNames?.().reduce((sum, name) => sum + emitter.listenerCount(name), 0) ?? 0
process.on('SIGUSR2', () => {
  const most = Math.max(0, ...process._getActiveHandles().map(count))
  writeFileSync(${JSON.stringify(`${file}.new`)}, String(count(process) + most))
  renameSync(${JSON.stringify(`${file}.new`)}, ${JSON.stringify(file)})
})`)}`

/** Creates a function that takes a sample of a process; it fails while the database does not answer. */
export function createSampler(pid: number, server: FaultServer, database: string): () => Promise<Sample> {
  return async () => {
    rmSync(file, { force: true })
    process.kill(pid, 'SIGUSR2')
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const sql = server.open(database)
    try {
      const [row] = await sql<{ backends: number }[]>`
        select count(*)::int as backends from pg_stat_activity where application_name = 'voucher-gateway'`
      return {
        residentMb: Math.round(Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1024),
        descriptors: readdirSync(`/proc/${pid}/fd`).length,
        listeners: await readListeners(),
        backends: row?.backends ?? 0,
      }
    } finally {
      await sql.end({ timeout: 1 })
    }
  }
}

async function readListeners(): Promise<number> {
  for (const deadline = Date.now() + 2_000; Date.now() < deadline; ) {
    try {
      return Number(readFileSync(file, 'utf8'))
    } catch {
      await pause(10)
    }
  }
  throw new Error('The process has not written how many listeners it has.')
}
