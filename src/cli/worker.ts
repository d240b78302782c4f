// A worker of `serve --workers`: it answers requests, and the primary process does the rest.
import type { WorkerCount, WorkerRole } from '../http/health.ts'
import { type FromWorker, isFromPrimary } from './worker-messages.ts'

/** The connection of a worker to the primary. */
export interface PrimaryLink extends WorkerRole {
  /** Resolves when the primary asks this worker to end, or a signal does, with the reason. */
  stopped: Promise<string>
  /** The secret of the demo's token; null: this is no demo. */
  demoToken: string | null
  /** Says that this worker listens. */
  ready(origin: string): void
  /** Ends the connection, and so this process. */
  close(): void
}

/** The variable that numbers a worker, from 1. */
export const workerVariable = 'VOUCHER_GATEWAY_WORKER'

/** The variable that gives workers the demo's token. */
export const demoTokenVariable = 'VOUCHER_GATEWAY_DEMO_TOKEN'

/** Returns the connection to the primary, or null when this process is not a worker. */
export function linkToPrimary(): PrimaryLink | null {
  const worker = Number(process.env[workerVariable] ?? 0)
  if (worker === 0 || process.send === undefined) return null
  let workers: WorkerCount | null = null
  const stopped = new Promise<string>(resolve => {
    process.on('message', message => {
      if (!isFromPrimary(message)) return
      if (message.kind === 'stop') resolve('primary')
      else workers = message.workers
    })
    process.once('SIGTERM', resolve)
    // Ctrl-C reaches all processes of a terminal: the primary stops its workers.
    process.on('SIGINT', () => {})
  })
  return {
    worker,
    stopped,
    demoToken: process.env[demoTokenVariable] || null,
    workers: () => workers,
    ready: origin => process.send?.({ kind: 'ready', origin } satisfies FromWorker),
    close: () => process.disconnect?.(),
  }
}
