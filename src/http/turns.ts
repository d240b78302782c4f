/** For how long tasks are begun in one turn of the event loop, in milliseconds; one always is. */
const budgetMs = 0.5

/**
 * Spreads the beginning of tasks over turns of the event loop. Node accepts one connection a turn, so with long turns new
 * connections, and health checks on them, would wait for seconds.
 *
 * @returns a function that runs the first task of a turn at once, and the others in order, after the events of this turn
 *   or of a later one
 */
export function createTurns(): (task: () => void) => void {
  let waiting: (() => void)[] = []
  let scheduled = false

  function runSome(): void {
    scheduled = false
    const tasks = waiting
    const start = performance.now()
    waiting = []
    let done = 0
    for (const task of tasks) {
      if (done > 0 && performance.now() - start > budgetMs) break
      done++
      task()
    }
    if (done < tasks.length) waiting = [...tasks.slice(done), ...waiting]
    if (waiting.length > 0) schedule()
  }

  function schedule(): void {
    if (scheduled) return
    scheduled = true
    setImmediate(runSome)
  }

  return task => {
    const isFirst = !scheduled && waiting.length === 0
    schedule()
    if (isFirst) task()
    else waiting.push(task)
  }
}
