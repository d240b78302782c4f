/** Statements that need a lock: they wait for a short time, because writers queue behind them, and are tried again. */
import { setTimeout as pause } from 'node:timers/promises'
import { type Blocker, describeBlockers, watchBlockers } from './blockers.ts'
import type { Sql } from './sql.ts'

/** The pause before a statement is tried again, in milliseconds. */
const retryMs = 1_500

/** The SQLSTATEs of a lock that another transaction holds: `lock_timeout`, and a deadlock. */
const lockConflict = /^(55P03|40P01)$/

export interface LockRetryOptions {
  /** The time for which a statement is tried, in seconds. */
  lockWait: number
  /** Ends the reading of blockers. */
  signal: AbortSignal
  /** Called after each attempt that failed, and during a long wait, with the transactions that hold the locks. */
  onBlocked?: ((blockers: Blocker[]) => void) | undefined
  /** Who needs the locks, as the subject of a sentence, and what to do when it does not get them. */
  subject: string
  remedy: string
}

/**
 * Makes the function that tries statements of a session, whose `lock_timeout` is set.
 *
 * @param sql a pool without that session's connection
 * @param pid the backend of the session
 * @returns runs work until it has its locks; it throws the work's error, or an Error that names who holds a lock for longer than
 *   `lockWait`
 */
export function retryLocks(
  sql: Sql,
  pid: number,
  { lockWait, signal, onBlocked, subject, remedy }: LockRetryOptions,
): <Result>(work: () => Promise<Result>) => Promise<Result> {
  const latestBlockers = watchBlockers(sql, pid, { signal, onBlocked })
  return async work => {
    for (const deadline = performance.now() + lockWait * 1000; ; await pause(retryMs, undefined, { signal })) {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && lockConflict.test(String(error.code)))) throw error
        const blockers = latestBlockers()
        if (performance.now() > deadline) {
          const held = `It is held by ${describeBlockers(blockers)}.`
          throw new Error(`${subject} did not get a lock that it needs. ${held} ${remedy}`, { cause: error })
        }
        onBlocked?.(blockers)
      }
    }
  }
}
