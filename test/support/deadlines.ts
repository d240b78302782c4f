import { requestDeadlines } from '../../src/http/limits/timeouts.ts'
import { afterFile } from './cleanups.ts'

/**
 * Lets requests take a minute, at services that are started later in the file: a busy machine needs more than the usual
 * time for many requests at once.
 */
export function extendDeadlines(): void {
  const former = { ...requestDeadlines }
  Object.assign(requestDeadlines, { answer: 60_000, body: 90_000 })
  afterFile(() => Object.assign(requestDeadlines, former))
}
