/** Gathers the metrics of all workers in the primary, which answers the scrapes. */
import cluster from 'node:cluster'
import { once } from 'node:events'
import type { WorkerCount } from '../../doctor/health.ts'
import { type ProcessMetrics, processRegistry, sumMetrics, workers } from '../../metrics/registry.ts'
import { metricsRequest } from './worker.ts'

/**
 * The maximum wait of a scrape for the workers, in milliseconds. Each worker may read the database for up to 1.2
 * seconds.
 */
const timeLimitMs = 2_000

/**
 * Returns whether a metric only grows. The sums keep these metrics of ended workers, because Prometheus would take a
 * smaller sum for a restart of all workers.
 */
const isCount = ({ type }: ProcessMetrics[number]) => ['counter', 'histogram'].includes(`${type}`)

/**
 * Gathers the metrics of all workers from now on. When a worker does not answer in time, the sums contain its last
 * answer.
 *
 * @param countWorkers returns the number of workers that listen
 * @returns a function that reads the sums as text
 */
export function gatherMetrics(countWorkers: () => WorkerCount): () => Promise<string> {
  /** The last answers of running workers, by their ids. */
  const answers = new Map<number, ProcessMetrics>()
  /** The counts of workers that have ended. */
  let ended = Promise.resolve<ProcessMetrics>([])

  cluster.on('message', ({ id }, message) => {
    if (isAnswer(message)) answers.set(id, message.metrics)
  })
  // Listens to `disconnect` and not to `exit`, because `exit` may come before the last answer.
  cluster.on('disconnect', ({ id }) => {
    const counts = answers.get(id)?.filter(isCount) ?? []
    answers.delete(id)
    ended = ended.then(sums => sumMetrics([sums, counts]).getMetricsAsJSON())
  })
  return async () => {
    const signal = AbortSignal.timeout(timeLimitMs)
    const asked = Object.values(cluster.workers ?? {}).flatMap(worker => (worker?.isConnected() ? [worker] : []))
    const answered = asked.map(worker => once(worker, 'message', { signal }))
    for (const worker of asked) worker.send(metricsRequest)
    await Promise.allSettled(answered)
    const { listening, total } = countWorkers()
    workers.set({ state: 'listening' }, listening)
    workers.set({ state: 'starting' }, total - listening)
    const own = await processRegistry.getMetricsAsJSON()
    return sumMetrics([await ended, ...answers.values(), own]).metrics()
  }
}

const isAnswer = (message: unknown): message is { metrics: ProcessMetrics } =>
  typeof message === 'object' && message !== null && 'metrics' in message && Array.isArray(message.metrics)
