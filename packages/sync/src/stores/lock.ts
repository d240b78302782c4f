/** The lock file of a directory, so that only one sync at a time writes to the directory. */
import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { inUseError, takenOverError } from '../errors.ts'
import { hasCode, isMissing } from './own-file.ts'

/**
 * The wait after a process has replaced a lock, in milliseconds. It must be longer than the time between reading and
 * replacing a lock, so that the process sees whether another process has replaced the lock too.
 */
const settleWaitMs = 250

/**
 * The interval at which the holder touches its lock file, in milliseconds, so that processes on other machines see that
 * the lock is in use.
 */
const touchMs = 10_000

/**
 * A lock of another machine or container is taken over when its file was not touched for this time, in milliseconds.
 */
const staleMs = 6 * touchMs

/** A lock that this process holds. */
export interface Lock {
  /**
   * @throws SyncError when another process has taken the lock over, because this process could not touch the lock file
   */
  check(): Promise<void>
  /** Releases the lock, unless another process has taken it over. */
  release(): Promise<void>
}

/**
 * Takes the lock of a directory. The lock of a killed process is taken over: immediately when the process ran on this
 * machine, and after a minute when it ran on another machine or in another container, because this process cannot see
 * the processes there.
 *
 * @param path the lock file, which contains the id of the process
 * @throws SyncError when another process holds the lock
 */
export async function takeLock(path: string): Promise<Lock> {
  const text = `${identifyProcess(process.pid)} ${randomUUID()}`
  while ((await readLock(path)) !== text) {
    if (await createLock(path, text)) continue
    const holder = await findHolder(path)
    if (holder !== null) throw inUseError(holder)
    await replaceLock(path, text)
    // If several processes replace the lock at the same time, the last process gets it.
    await pause(settleWaitMs)
  }
  const isHeld = async () => (await readLock(path)) === text
  const touch = async () => {
    if (await isHeld()) await utimes(path, new Date(), new Date())
  }
  // Ignores the error: when the directory is not writable, the next commit fails anyway.
  const timer = setInterval(() => touch().catch(() => {}), touchMs).unref()
  return {
    async check() {
      if (!(await isHeld())) throw takenOverError()
    },
    async release() {
      clearInterval(timer)
      if (await isHeld()) await rm(path, { force: true })
    },
  }
}

/** Returns the holder of a lock, as the start of a sentence; null when the holder no longer runs. */
async function findHolder(path: string): Promise<string | null> {
  const [place, id] = ((await readLock(path)) ?? '').split(' ')
  if (place !== currentPlace) {
    // On a full disk, the lock file stays empty.
    const touched = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    )
    const age = id ? Date.now() - touched : staleMs
    return age < staleMs ? `A process on another machine or in another container (${path})` : null
  }
  const pid = Number(id)
  const isHolder = isAlive(pid) && (await readLock(path))?.startsWith(`${identifyProcess(pid)} `)
  return isHolder ? `Process ${pid}` : null
}

/** Returns whether a process with this id exists, even one of another account. */
function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
}

/** Returns the content of a lock file; null when there is no file. */
const readLock = (path: string): Promise<string | null> =>
  readFile(path, 'utf8').catch(error => {
    if (isMissing(error)) return null
    throw error
  })

/** Creates a lock file. @returns false when the file already exists */
async function createLock(path: string, text: string): Promise<boolean> {
  try {
    await writeFile(path, text, { flag: 'wx' })
    return true
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false
    throw error
  }
}

async function replaceLock(path: string, text: string): Promise<void> {
  const written = `${path}-${randomUUID()}`
  try {
    await writeFile(written, text)
    await rename(written, path)
  } catch (error) {
    await rm(written, { force: true })
    throw error
  }
}

/**
 * Identifies the machine and its last start, or the container, in which this process runs. Two processes with the same
 * identifier can see each other. Only Linux can distinguish containers and starts.
 */
const currentPlace = identifyPlace()

function identifyPlace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}

/**
 * Returns the place, the process id and the start time of a process. The start time is included because process ids are
 * reused.
 */
function identifyProcess(pid: number): string {
  let started = ''
  try {
    // Skips the name of the program, which is in parentheses and may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(')').at(-1)?.trim().split(' ')
    started = fields?.[19] ?? ''
  } catch {
    // Only Linux has this file with the start time of a process.
  }
  return `${currentPlace} ${pid} ${started}`
}
