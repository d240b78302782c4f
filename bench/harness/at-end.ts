/** What the benchmark has started, to stop at its end. */
const started: (() => Promise<unknown>)[] = []

/**
 * Stops something when the benchmark ends, also when it fails.
 *
 * @returns a function that stops it earlier; it is stopped once
 */
export function atEnd(stop: () => Promise<unknown>): () => Promise<unknown> {
  let stopped: Promise<unknown> | undefined
  const stopOnce = () => (stopped ??= stop())
  started.push(stopOnce)
  return stopOnce
}

/** Stops everything, the latest first. */
export async function stopAll(): Promise<void> {
  for (const stop of started.toReversed()) await stop()
}
