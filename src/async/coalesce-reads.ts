/**
 * Coalesces the reads of concurrent callers: all calls during a read share the next read. So no caller gets a result
 * that was read before its call.
 *
 * @param timeout the time after which new calls no longer wait for the running read, in milliseconds; default:
 * unlimited
 */
export function coalesceReads<Result>(read: () => Promise<Result>, timeout = Number.POSITIVE_INFINITY) {
  let running: { since: number; result: Promise<Result> } | null = null
  let next: Promise<Result> | null = null

  function begin(): Promise<Result> {
    const run = { since: performance.now(), result: read() }
    running = run
    next = null
    const end = () => {
      if (running === run) running = null
    }
    run.result.then(end, end)
    return run.result
  }

  return (): Promise<Result> => {
    if (!running || performance.now() - running.since > timeout) return begin()
    next ??= running.result.then(begin, begin)
    return next
  }
}
