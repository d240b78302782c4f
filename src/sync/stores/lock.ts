/** One sync at a time in a directory. */
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { isAlive } from '../../db/embedded-pid-file.ts'
import { exitCodes, SyncError } from '../errors.ts'
import { isMissing } from './lines.ts'
import { takenOver } from './taken-over.ts'

/** Longer than a process takes from reading a lock to replacing it, in milliseconds. */
const settlingMs = 250

/** A lock that this process has taken. */
export interface Lock {
  /** @throws SyncError when another process has taken it over: one in another container, whose processes are not seen here */
  check(): Promise<void>
  /** Releases the lock, unless another process has it now. */
  release(): Promise<void>
}

/**
 * Takes the lock of a directory. The lock of a process that was killed is taken over.
 *
 * @param path the file that names the process
 * @throws SyncError when another process holds it
 */
export async function takeLock(path: string): Promise<Lock> {
  // Two processes in two containers can have the same id and time.
  const text = `${identify(process.pid)} ${randomUUID()}`
  while ((await readLock(path)) !== text) {
    if (await createLock(path, text)) continue
    const held = (await readLock(path)) ?? ''
    const pid = Number(held.split(' ', 1)[0])
    if (isAlive(pid) && held.startsWith(`${identify(pid)} `)) {
      throw new SyncError(exitCodes.failed, `Process ${pid} syncs to this directory already (${path}). Stop it first.`)
    }
    await replaceLock(path, text)
    // Of processes that take it over at the same time, the last one has it.
    await pause(settlingMs)
  }
  const isHeld = async () => (await readLock(path)) === text
  return {
    async check() {
      if (!(await isHeld())) throw takenOver()
    },
    async release() {
      if (await isHeld()) await rm(path, { force: true })
    },
  }
}

/** Returns what a lock says; null when there is none. */
const readLock = (path: string): Promise<string | null> =>
  readFile(path, 'utf8').catch(error => {
    if (isMissing(error)) return null
    throw error
  })

/** Creates a lock. @returns false when there is one */
async function createLock(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return false
    throw error
  }
}

async function replaceLock(path: string, text: string): Promise<void> {
  const written = `${path}-${randomUUID()}`
  await writeFile(written, text)
  await rename(written, path)
}

/** Returns a process id with the time of the process' start, because process ids are reused; Linux only has the time. */
function identify(pid: number): string {
  try {
    // The name of the program, in parentheses, may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(')').at(-1)?.trim().split(' ')
    return `${pid} ${fields?.[19] ?? ''}`
  } catch {
    return `${pid} `
  }
}
