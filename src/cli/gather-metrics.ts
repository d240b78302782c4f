/** The metrics of all workers, which their primary serves. */
import type { Worker } from 'node:cluster'
import { once } from 'node:events'
import { addUp, type ProcessMetrics } from '../metrics/registry.ts'
import { metricsRequest } from './worker.ts'

/** What a scrape waits for the workers, in milliseconds: each looks at the database for up to 1.2 seconds. */
const timeLimitMs = 2_000

/** Counts of ended workers stay: Prometheus would take a smaller sum for a restart of all workers. */
const isCount = ({ type }: ProcessMetrics[number]) => ['counter', 'histogram'].includes(`${type}`)

/** Gathers the metrics of workers. A worker that does not answer in time has those of its last answer. */
export class MetricsGatherer {
  /** The last answers of running workers. */
  readonly #answers = new Map<Worker, ProcessMetrics>()
  /** The counts of workers that have ended. */
  #ended: ProcessMetrics = []

  /** Adds a worker until it ends. */
  add(worker: Worker): void {
    this.#answers.set(worker, [])
    worker.on('message', message => {
      if (isAnswer(message)) this.#answers.set(worker, message.metrics)
    })
    worker.once('exit', async () => {
      const counts = this.#answers.get(worker)?.filter(isCount) ?? []
      this.#answers.delete(worker)
      this.#ended = await addUp([this.#ended, counts]).getMetricsAsJSON()
    })
  }

  /** Reads the sums as text. */
  async read(): Promise<string> {
    const signal = AbortSignal.timeout(timeLimitMs)
    const asked = [...this.#answers.keys()].filter(worker => worker.isConnected())
    const answered = asked.map(worker => once(worker, 'message', { signal }))
    for (const worker of asked) worker.send(metricsRequest)
    await Promise.allSettled(answered)
    return addUp([this.#ended, ...this.#answers.values()]).metrics()
  }
}

const isAnswer = (message: unknown): message is { metrics: ProcessMetrics } =>
  typeof message === 'object' && message !== null && 'metrics' in message && Array.isArray(message.metrics)
