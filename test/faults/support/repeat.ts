/** Repeats work until it is stopped. @returns stops it, and waits for its end @throws the error of the work, when it is stopped */
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
