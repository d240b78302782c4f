/**
 * CPU time of processes, only on Linux: of living threads in nanoseconds (/proc/<pid>/task/<tid>/schedstat), of children
 * that have ended in ticks (/proc/<pid>/stat).
 */
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Pool } from '../../src/db/sql.ts'

/** @returns the seconds of CPU time that have been used so far */
export type CpuClock = () => number

const ticksPerSecond = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

/** @returns the numbers in /proc/<pid>/stat; null when the process has ended */
function readStat(pid: number) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // The name of the process is in brackets, and may contain spaces and brackets.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return { parent: Number(fields[1]), endedChildren: (Number(fields[13]) + Number(fields[14])) / ticksPerSecond }
  } catch {
    return null
  }
}

/** @returns the seconds of CPU time of all threads of a process; threads that have ended are left out */
function threadSeconds(pid: number): number {
  let nanoseconds = 0
  try {
    for (const thread of readdirSync(`/proc/${pid}/task`)) {
      nanoseconds += Number.parseInt(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'), 10)
    }
  } catch {
    // The thread, or the whole process, has ended since its name was read.
  }
  return nanoseconds / 1e9
}

/** @returns the resident memory of a process, in MiB */
export const residentMemory = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024

/** @returns the clock of one process */
export const processCpu = (pid: number): CpuClock => {
  return () => {
    if (!readStat(pid)) throw new Error(`Process ${pid} has ended.`)
    return threadSeconds(pid)
  }
}

/**
 * @returns the clock of a database server: of its main process and all child processes, including children that have
 * ended
 */
export async function postgresCpu(sql: Pool): Promise<CpuClock> {
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const main = readStat(row!.pid)?.parent
  if (main === undefined) throw new Error('CPU time is read from /proc, which only Linux has.')
  return () => {
    const server = readStat(main)
    if (!server) throw new Error('The database server has ended.')
    const children = readdirSync('/proc')
      .map(Number)
      .filter(pid => pid > 0 && readStat(pid)?.parent === main)
    return [main, ...children].reduce((sum, pid) => sum + threadSeconds(pid), server.endedChildren)
  }
}
