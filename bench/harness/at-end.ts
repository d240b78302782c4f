/** Functions that stop what the benchmark has started. They run at the end of the benchmark. */
const started: (() => Promise<unknown>)[] = []

/**
 * Stops something when the benchmark ends, also when it fails.
 *
 * @returns a function that stops it earlier. It is never stopped twice
 */
export function atEnd(stop: () => Promise<unknown>): () => Promise<unknown> {
  let stopped: Promise<unknown> | undefined
  const stopOnce = () => (stopped ??= stop())
  started.push(stopOnce)
  return stopOnce
}

/** Stops everything in reverse order of the start. */
export async function stopAll(): Promise<void> {
  for (const stop of started.toReversed()) await stop()
}
