/**
 * Sends a load from a separate process, in an open loop (a fixed rate) or a closed loop (each caller repeats at once).
 */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export interface GeneratedRequest {
  method: string
  path: string
  secret?: string
  body?: string
}

export interface LoadOrder {
  port: number
  /**
   * The number of requests per second; null for a closed loop, in which each connection sends its next request after
   * each answer.
   */
  rate: number | null
  seconds: number
  /** The maximum number of connections. In an open loop, a request is not sent when all connections are busy. */
  connections: number
  /** True when each request opens a new connection. */
  reconnects?: boolean
  requests: readonly GeneratedRequest[]
}

export interface LoadReport {
  sent: number
  /** The number of requests whose connection was closed before the answer. */
  lost: number
  /** The number of requests without an answer ten seconds after the end. */
  unanswered: number
  /** The number of answers with status 503 and without `Retry-After`. */
  withoutRetryAfter: number
  /** The longest pause of the load process, in milliseconds. The measured latencies contain such pauses. */
  lag: number
  /** The latencies of the answers in milliseconds, by status. */
  latencies: Record<string, number[]>
  /** The planned time of each request that was answered with 200, and its latency, in milliseconds. */
  successes: [number, number][]
}

export async function generateLoad(order: LoadOrder) {
  const program = fileURLToPath(new URL('load-generator-process.ts', import.meta.url))
  const child = fork(program, { execArgv: ['--import', 'tsx'] })
  child.send(order)
  const report = await new Promise<LoadReport>((resolve, reject) => {
    child.once('message', message => resolve(message as LoadReport))
    child.once('exit', code => reject(new Error(`The load process ended with ${code} and reported nothing.`)))
  })
  child.kill()
  return {
    ...report,
    /** The number of answers with status 200 per second of the load. */
    throughput: report.successes.filter(([at, took]) => at + took <= order.seconds * 1_000).length / order.seconds,
    /** Returns a quantile of the latencies of the answers with this status, in milliseconds. */
    quantile(status: number, share: number) {
      const sorted = (report.latencies[status] ?? []).toSorted((one, other) => one - other)
      return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
    },
  }
}
