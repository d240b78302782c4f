import { requestDeadlines } from '../../src/http/limits/timeouts.ts'
import { afterFile } from './cleanups.ts'

/**
 * Raises the deadline to a minute for services that start later in the file, because a busy machine needs more than the
 * usual time for many concurrent requests.
 */
export function extendDeadlines(): void {
  const former = { ...requestDeadlines }
  Object.assign(requestDeadlines, { answer: 60_000, body: 90_000 })
  afterFile(() => Object.assign(requestDeadlines, former))
}
