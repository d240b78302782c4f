// The link of a worker of `serve --workers` to its primary process.
import type { WorkerCount } from '../../doctor/health.ts'

/** The message with which the primary asks a worker for its metrics. */
export const metricsRequest = 'metrics'

export type PrimaryLink = NonNullable<ReturnType<typeof linkToPrimary>>

/**
 * The environment variables in which the primary passes a worker its number (from 1), and the demo's token and
 * platform.
 */
export const workerVariables = {
  number: 'VOUCHER_GATEWAY_WORKER',
  demoToken: 'VOUCHER_GATEWAY_DEMO_TOKEN',
  demoPlatform: 'VOUCHER_GATEWAY_DEMO_PLATFORM',
}

/** Returns the connection to the primary, or null when this process is not a worker. */
export function linkToPrimary() {
  const worker = Number(process.env[workerVariables.number] ?? 0)
  if (worker === 0 || process.send === undefined) return null
  let workers: WorkerCount | null = null
  process.on('message', async message => {
    if (isWorkerCount(message)) workers = message
    if (message !== metricsRequest) return
    const { processRegistry } = await import('../../metrics/registry.ts')
    process.send?.({ metrics: await processRegistry.getMetricsAsJSON() })
  })
  // The primary sends SIGTERM even to a worker that has already received a SIGTERM.
  const stopped = new Promise<string>(resolve => process.on('SIGTERM', resolve))
  // Ctrl-C sends SIGINT to all processes of a terminal. Workers ignore this signal, because the primary stops the
  // workers.
  process.on('SIGINT', () => {})
  return {
    worker,
    /** Resolves with the reason when the primary or a signal asks this worker to end. */
    stopped,
    /** The secret of the demo's token; null when this is not the demo. */
    demoToken: process.env[workerVariables.demoToken] || null,
    /** The origin of the demo's platform; null when this is not the demo. */
    demoPlatform: process.env[workerVariables.demoPlatform] || null,
    workers: (): WorkerCount | null => workers,
    /** Closes the connection to the primary, which ends this process. */
    close: () => process.disconnect?.(),
  }
}

/**
 * Returns whether a message reports the number of workers that listen. The primary sends such a message each time the
 * number changes.
 */
const isWorkerCount = (message: unknown): message is WorkerCount =>
  typeof message === 'object' && message !== null && 'listening' in message && 'total' in message
