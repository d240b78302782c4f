/** The lock of a directory: only one sync at a time uses it. */
import { randomUUID } from 'node:crypto'
import { readFileSync, readlinkSync } from 'node:fs'
import { readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { inUse, takenOver } from '../errors.ts'
import { hasCode, isMissing } from './own-file.ts'

/** A wait, in milliseconds: longer than a process needs between reading a lock and replacing it. */
const settlingMs = 250

/** The interval at which a lock is touched, so that processes elsewhere see that it is held; in milliseconds. */
const touchMs = 10_000

/** The time after which a lock of a process elsewhere that was not touched is taken over, in milliseconds. */
const staleMs = 6 * touchMs

/** A lock that this process has taken. */
export interface Lock {
  /** @throws SyncError when another process has taken it over, because this process could not touch it */
  check(): Promise<void>
  /** Releases the lock, unless another process has it now. */
  release(): Promise<void>
}

/**
 * Takes the lock of a directory. The lock of a process that was killed is taken over: immediately on the same machine, and
 * after a minute when it ran on another machine or in another container, whose processes are not seen here.
 *
 * @param path the file that names the process
 * @throws SyncError when another process holds it
 */
export async function takeLock(path: string): Promise<Lock> {
  const text = `${identify(process.pid)} ${randomUUID()}`
  while ((await readLock(path)) !== text) {
    if (await createLock(path, text)) continue
    const holder = await findHolder(path)
    if (holder !== null) throw inUse(holder)
    await replaceLock(path, text)
    // If several processes take the lock over at the same time, the last process has it.
    await pause(settlingMs)
  }
  const isHeld = async () => (await readLock(path)) === text
  const touch = async () => {
    if (await isHeld()) await utimes(path, new Date(), new Date())
  }
  // A directory that cannot be written fails at the next commit.
  const timer = setInterval(() => touch().catch(() => {}), touchMs).unref()
  return {
    async check() {
      if (!(await isHeld())) throw takenOver()
    },
    async release() {
      clearInterval(timer)
      if (await isHeld()) await rm(path, { force: true })
    },
  }
}

/** Returns who holds a lock, at the start of a sentence; null when it was left behind. */
async function findHolder(path: string): Promise<string | null> {
  const [place, id] = ((await readLock(path)) ?? '').split(' ')
  if (place !== currentPlace) {
    // A full disk leaves an empty lock.
    const touched = await stat(path).then(
      ({ mtimeMs }) => mtimeMs,
      () => 0,
    )
    const age = id ? Date.now() - touched : staleMs
    return age < staleMs ? `A process on another machine or in another container (${path})` : null
  }
  const pid = Number(id)
  const isHolder = isAlive(pid) && (await readLock(path))?.startsWith(`${identify(pid)} `)
  return isHolder ? `Process ${pid}` : null
}

/** Returns whether a process with this id exists, of any account. */
function isAlive(pid: number): boolean {
  try {
    return pid > 0 && process.kill(pid, 0)
  } catch (error) {
    return hasCode(error, 'EPERM')
  }
}

/** Returns the content of a lock; null when there is none. */
const readLock = (path: string): Promise<string | null> =>
  readFile(path, 'utf8').catch(error => {
    if (isMissing(error)) return null
    throw error
  })

/** Creates a lock. @returns false when there is a lock */
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
 * The place of this process. Processes of the same place see each other: a machine since its start, or a container on
 * it. Only Linux can distinguish such places.
 */
const currentPlace = findPlace()

function findPlace(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim()
    return `${boot}/${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return hostname()
  }
}

/** Returns the place, the process id and the time of the process' start, because process ids are reused. */
function identify(pid: number): string {
  let started = ''
  try {
    // The name of the program, in parentheses, may contain spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(')').at(-1)?.trim().split(' ')
    started = fields?.[19] ?? ''
  } catch {
    // Only Linux has the start time of a process there.
  }
  return `${currentPlace} ${pid} ${started}`
}
