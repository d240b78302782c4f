/** Checks at the start whether the limits of open files and of the heap are high enough for this process. */
import { existsSync, readFileSync } from 'node:fs'
import { getHeapStatistics } from 'node:v8'
import type { Config } from './config/config.ts'
import { type Reason, ReasonError, reason } from './reasons.ts'

/** The number of files that are open while Node loads the modules of `serve`: some 200, and a reserve. */
const moduleFiles = 256

/**
 * The number of open files of a process without connections (log, event loop, files that it reads), and the number per
 * worker in the primary.
 */
const files = { own: 64, worker: 4 }

/** The heap that the start needs, and the heap per request under way, in MiB, both without V8's young generation. */
const heap = { start: 48, request: 0.1 }

/**
 * The size of the young generation, in MiB, which V8 includes in the limit of the heap. It is larger from V8 13 (Node
 * 24) on.
 */
const youngHeap = Number.parseInt(process.versions.v8, 10) < 13 ? 48 : 192

/** Returns the maximum number of open files of this process; Infinity when it is unknown. */
function openFileLimit(): number {
  const limits = existsSync('/proc/self/limits') ? readFileSync('/proc/self/limits', 'utf8') : ''
  return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
}

/**
 * The number of open files that are not available for connections of callers. docs/scaling.md says how many connections
 * to the database are among them.
 */
const reservedFiles = (databasePool: number) => files.own + Math.ceil(1.3 * databasePool) + 12

/** Returns the maximum number of callers' connections. */
export const connectionLimit = (databasePool: number): number => openFileLimit() - reservedFiles(databasePool)

/**
 * Returns a reason when the limit of open files is lower than the number needed; otherwise null.
 *
 * @param use the purpose of the files
 */
export function findFileLimitProblem(needed = moduleFiles, use = 'to load its code'): Reason | null {
  const limit = openFileLimit()
  return limit >= needed ? null : reason('FILES_TOO_FEW', { limit, needed, use })
}

/**
 * Checks that the service can answer `MAX_REQUESTS` requests at a time. Workers have the limits of their primary.
 *
 * @param workers the number of processes that answer requests; 1 when only this process does
 * @throws ReasonError with the limit, the need, and the remedy
 */
export function requireProcessLimits({ maxRequests, databasePool }: Config, workers: number): void {
  const use = `for MAX_REQUESTS=${maxRequests}, DATABASE_POOL=${databasePool} and --workers ${workers}`
  const fewFiles = findFileLimitProblem(
    reservedFiles(databasePool) + Math.max(maxRequests, files.worker * workers),
    use,
  )
  if (fewFiles !== null) throw new ReasonError(fewFiles)
  const limit = Math.floor(getHeapStatistics().heap_size_limit / 2 ** 20) - youngHeap
  const needed = Math.ceil(heap.start + heap.request * maxRequests)
  if (limit < needed) throw new ReasonError(reason('HEAP_TOO_SMALL', { limit, needed, use }))
}
