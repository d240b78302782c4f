/** The limits of this process, which are checked before they are reached: open files, and the heap. */
import { existsSync, readFileSync } from 'node:fs'
import { getHeapStatistics } from 'node:v8'
import type { Config } from './config/config.ts'
import { type Reason, ReasonError, reason } from './reasons.ts'

/** The files that are open while Node loads the modules of `serve`: some 200, and a reserve. */
const moduleFiles = 256

/** The files of a process without connections (log, event loop, files that it reads), and of each worker. */
const files = { own: 64, worker: 4 }

/** The heap for the start, and for each request under way, in MiB, without V8's young generation. */
const heap = { start: 48, request: 0.1 }

/** The young generation, in MiB, which V8 counts in the limit of the heap: more from V8 13 (Node 24) on. */
const youngHeap = Number.parseInt(process.versions.v8, 10) < 13 ? 48 : 192

/** Returns the maximum number of open files of this process; Infinity when it is unknown. */
function openFileLimit(): number {
  const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : ''
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
}

/** Files that are not available for connections of callers; docs/scaling.md counts the connections to the database. */
const reservedFiles = (databasePool: number) => files.own + Math.ceil(1.3 * databasePool) + 12

/** Returns the maximum number of callers' connections. */
export const connectionLimit = (databasePool: number): number => openFileLimit() - reservedFiles(databasePool)

/** Returns a reason when the limit of open files is too low; otherwise null. @param use the purpose of the files */
export function findFewFiles(needed = moduleFiles, use = 'to load its code'): Reason | null {
  const limit = openFileLimit()
  return limit >= needed ? null : reason('FILES_TOO_FEW', { limit, needed, use })
}

/**
 * Checks that the service can answer `MAX_REQUESTS` requests at a time. Workers have the limits of their primary.
 *
 * @param workers the number of processes that answer requests; with 1 only this process
 * @throws ReasonError with the limit, the need, and the remedy
 */
export function requireProcessLimits({ maxRequests, databasePool }: Config, workers: number): void {
  const use = `for MAX_REQUESTS=${maxRequests}, DATABASE_POOL=${databasePool} and --workers ${workers}`
  const fewFiles = findFewFiles(reservedFiles(databasePool) + Math.max(maxRequests, files.worker * workers), use)
  if (fewFiles !== null) throw new ReasonError(fewFiles)
  const limit = Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20) - youngHeap
  const needed = Math.ceil(heap.start + heap.request * maxRequests)
  if (limit < needed) throw new ReasonError(reason('HEAP_TOO_SMALL', { limit, needed, use }))
}
