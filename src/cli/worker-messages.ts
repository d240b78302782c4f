// The messages between the primary process of `serve --workers` and its workers.
import type { WorkerCount } from '../http/health.ts'

/** The message of a worker: it listens. */
export interface FromWorker {
  kind: 'ready'
  /** The origin at which this machine reaches the service. */
  origin: string
}

/** Asks a worker to finish its requests, and to end. */
interface StopMessage {
  kind: 'stop'
}

/** Reports the number of workers that listen, whenever it changes. */
interface WorkersMessage {
  kind: 'workers'
  workers: WorkerCount
}

/** A message that the primary sends. */
export type FromPrimary = StopMessage | WorkersMessage

const kindOf = (message: unknown): unknown =>
  typeof message === 'object' && message !== null && 'kind' in message ? message.kind : undefined

/** Returns whether a message is one of a worker's: other libraries may send messages too. */
export const isFromWorker = (message: unknown): message is FromWorker => kindOf(message) === 'ready'

/** Returns whether a message is one of the primary's. */
export const isFromPrimary = (message: unknown): message is FromPrimary =>
  kindOf(message) === 'stop' || kindOf(message) === 'workers'
