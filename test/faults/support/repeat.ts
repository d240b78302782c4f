/**
 * Repeats work until it is stopped. @returns a function that stops the work and waits for its end, or rejects with the
 * error of the work
 */
export function repeat(work: () => Promise<unknown>): () => Promise<void> {
  let isStopped = false
  const running = (async () => {
    while (!isStopped) await work()
  })()
  running.catch(() => {})
  return () => {
    isStopped = true
    return running
  }
}
