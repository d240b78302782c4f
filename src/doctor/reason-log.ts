import type { FastifyBaseLogger } from 'fastify'
import type { Reason } from '../reasons.ts'

/** Matches the times in a message, which grow as long as the reason lasts. */
const durations = /\b\d{1,9}(\.\d{1,9})? s\b/g

/** Creates the log of problems of a running service: a line when a reason begins, and a line when it has ended. */
export function createReasonLog(log: FastifyBaseLogger) {
  let known = new Map<string, Reason>()
  /**
   * Compares the reasons with the reasons of the last call, and logs the differences.
   *
   * @param isWhole false when a check could not be made, so that no reason counts as ended
   */
  return (reasons: readonly Reason[], isWhole: boolean): void => {
    const present = new Map(reasons.map(reason => [reason.code + reason.message.replaceAll(durations, ''), reason]))
    for (const [key, reason] of present) {
      if (!known.has(key)) log[reason.level === 'error' ? 'error' : 'warn']({ reasons: [reason] }, 'a reason begins')
    }
    for (const [key, reason] of isWhole ? known : []) {
      if (!present.has(key)) log.info({ reasons: [reason] }, 'a reason has ended')
    }
    known = isWhole ? present : new Map([...known, ...present])
  }
}
