import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import type { Pool } from '../../src/db/connect.ts'

/** Seconds of the processor's time that something has used so far, as the operating system counts. */
export type Clock = () => number

interface Process {
  pid: number
  parent: number
  /** Its own, all threads together, in ticks. */
  own: number
  /** That of children which have ended. */
  ofEnded: number
}

const ticks = Number(execFileSync('getconf', ['CLK_TCK'], { encoding: 'utf8' }))

function read(pid: number): Process | null {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'utf8')
  } catch {
    return null
  }
  // The name, in brackets, may hold anything.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [user, system, userOfEnded, systemOfEnded] = fields.slice(11, 15).map(Number)
  return { pid, parent: Number(fields[1]), own: user! + system!, ofEnded: userOfEnded! + systemOfEnded! }
}

/** The clock of one process. */
export const processClock =
  (pid: number): Clock =>
  () => {
    const found = read(pid)
    if (!found) throw new Error(`Process ${pid} is gone.`)
    return found.own / ticks
  }

/** The clock of a database server: its first process and all below, those that have ended too. */
export async function serverClock(sql: Pool): Promise<Clock> {
  const [row] = await sql<{ pid: number }[]>`select pg_backend_pid() as pid`
  const first = read(row!.pid)?.parent
  if (first === undefined) throw new Error('The time that processes use is read from /proc, which only Linux has.')
  return () => {
    const server = read(first)
    if (!server) throw new Error('The database server is gone.')
    const below = readdirSync('/proc')
      .filter(name => /^\d+$/.test(name))
      .map(name => read(Number(name)))
      .filter(found => found?.parent === first)
    return below.reduce((sum, found) => sum + (found?.own ?? 0), server.own + server.ofEnded) / ticks
  }
}
