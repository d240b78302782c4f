/** Loads that a process of its own sends: an open loop (a fixed rate) or a closed loop (each caller repeats at once). */
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
  /** Requests a second; null: a closed loop, in which each connection sends its next request after each answer. */
  rate: number | null
  seconds: number
  /** The most connections. In an open loop, a request that finds all of them busy is not sent. */
  connections: number
  /** True when each request has a connection of its own. */
  reconnects?: boolean
  requests: readonly GeneratedRequest[]
}

export interface LoadReport {
  sent: number
  /** Requests whose connection was closed before the answer. */
  lost: number
  /** Requests without an answer ten seconds after the end. */
  unanswered: number
  /** Answers with status 503 that lack `Retry-After`. */
  withoutRetryAfter: number
  /** The longest pause of the process itself, in milliseconds, which its latencies contain. */
  lag: number
  /** Latencies in milliseconds, by status. */
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
    /** Answers with 200 a second, while the load lasted. */
    throughput: report.successes.filter(([at, took]) => at + took <= order.seconds * 1_000).length / order.seconds,
    /** @returns the latency in milliseconds that a share of the answers with this status took at most */
    quantile(status: number, share: number) {
      const sorted = (report.latencies[status] ?? []).toSorted((one, other) => one - other)
      return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
    },
  }
}
