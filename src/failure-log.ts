import type { FastifyBaseLogger } from 'fastify'
import { LRUCache } from 'lru-cache'
import { DatabaseRefusedError } from './db/connection/session.ts'
import { stackTop, summarizeError } from './log.ts'
import { type Reason, reason } from './reasons.ts'

interface Failure {
  error: unknown
  /** The text of the log line, such as `request failed`. */
  message: string
  /**
   * An `outage` means that the service cannot answer. All failures of an outage are counted together. A `job` runs
   * again.
   */
  kind: 'outage' | 'fault' | 'job'
  request?: { id: string }
}

const second = 1000

/** The time without failures after which an outage is over, in milliseconds. It is longer than the longest call. */
const quietTime = 6 * second

/**
 * The minimum time between two stacks of the same kind of failure, in milliseconds. In between, the failure is only
 * counted.
 */
const stackInterval = 60 * second

/**
 * The SQLSTATE of a write for which the disk has no room, and the time in milliseconds for which such a failure remains
 * a reason.
 */
const diskFull = { code: '53100', time: 20 * second }

/**
 * The maximum numbers of kinds of failures that are counted separately, of causes in a line, and of request ids in a
 * line.
 */
const limits = { kinds: 50, causes: 10, requestIds: 5 }

/** Failures of one second with the same cause. */
type Cause = ReturnType<typeof summarizeError> & { message: string; count: number }

/** The cause that counts the failures beyond `limits.kinds`. */
const otherFailures = { message: 'other', code: 'other', statement: undefined }

/** Creates the log of failures: at most about one line a second. @param log writes the lines that count failures */
export function createFailureLog(log: FastifyBaseLogger) {
  /** The kinds of failures, other than outages, that were written with their stacks. */
  const written = new LRUCache<string, true>({ max: limits.kinds, ttl: stackInterval })
  let outage: { from: number; last: number; count: number } | null = null
  let causes = new Map<string, Cause>()
  let requestIds: string[] = []
  let isError = false
  let diskFullAt = Number.NEGATIVE_INFINITY
  let timer: NodeJS.Timeout | null = null

  /** Counts a failure of the outage. @returns true for the first failure of the outage */
  function beginsOutage(): boolean {
    const now = Date.now()
    const isNew = outage === null
    outage ??= { from: now, last: now, count: 0 }
    outage.last = now
    outage.count++
    return isNew
  }

  /** Returns whether a failure of this kind is written with its stack. */
  function isNew(kind: string): boolean {
    if (written.has(kind)) return false
    written.purgeStale()
    if (written.size >= limits.kinds) return false
    written.set(kind, true)
    return true
  }

  function writeCounts(): void {
    if (causes.size === 0) return
    const sorted = [...causes.values()].sort((one, other) => other.count - one.count)
    const count = sorted.reduce((sum, cause) => sum + cause.count, 0)
    const line = { count, causes: sorted.slice(0, limits.causes), requestIds }
    log[isError ? 'error' : 'warn'](line, 'further failures in the last second')
    causes = new Map()
    requestIds = []
    isError = false
  }

  function endOutage({ from, last, count }: NonNullable<typeof outage>): void {
    outage = null
    if (count === 1) return
    const seconds = Math.round((last - from) / second)
    log.warn({ count, seconds }, `the outage is over: nothing has failed for ${quietTime / second} seconds`)
  }

  function tick(): void {
    writeCounts()
    if (outage && Date.now() - outage.last >= quietTime) endOutage(outage)
    if (outage || timer === null) return
    clearInterval(timer)
    timer = null
  }

  return {
    /** Writes the first failure of a kind with its stack; counts later ones for the line of the second. */
    report({ error, message, kind, request }: Failure): void {
      const level = kind === 'fault' ? 'error' : 'warn'
      const { code, statement } = summarizeError(error)
      if (code === diskFull.code) diskFullAt = Date.now()
      const key = `${message} ${code} ${statement}`
      timer ??= setInterval(tick, second).unref()
      const begins = kind === 'outage' && beginsOutage()
      // The line is written even when an outage has begun for another reason, because the operator needs the remedy of
      // a refused database.
      const isRefused = error instanceof DatabaseRefusedError
      const needsLine = isRefused ? isNew(code) : kind !== 'outage' && isNew(`${key} ${stackTop(error)}`)
      if (begins || needsLine) {
        log[level]({ reqId: request?.id, err: error }, message)
        return
      }
      const hasPlace = causes.has(key) || causes.size < limits.kinds
      const [place, kept] = hasPlace ? [key, { message, code, statement }] : (['other', otherFailures] as const)
      causes.set(place, { ...kept, count: (causes.get(place)?.count ?? 0) + 1 })
      isError ||= level === 'error'
      if (request && requestIds.length < limits.requestIds) requestIds.push(request.id)
    },
    /** Returns the reasons that the failures of the last seconds show. */
    reasons: (): Reason[] => (Date.now() - diskFullAt < diskFull.time ? [reason('DISK_FULL')] : []),
    close(): void {
      writeCounts()
      if (timer) clearInterval(timer)
      timer = null
    },
  }
}

declare module 'fastify' {
  interface FastifyInstance {
    failureLog: ReturnType<typeof createFailureLog>
  }
}
