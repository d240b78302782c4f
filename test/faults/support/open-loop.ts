/** Requests at a fixed rate, sent by a process of their own. */
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A request as the process sends it. */
export interface OpenLoopRequest {
  method: string
  path: string
  secret?: string
  body?: string
}

/** What the process is to send. */
export interface OpenLoopOrder {
  port: number
  /** Requests a second. */
  rate: number
  seconds: number
  /** The most connections. A request that finds all of them busy waits, and its latency counts. */
  connections: number
  /** Sent in turn. */
  requests: readonly OpenLoopRequest[]
}

/** What the process reports. */
export interface OpenLoopReport {
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
  /** When each request that was answered with 200 was to be sent, and its latency, in milliseconds. */
  successes: [number, number][]
}

/** The outcome of a load; times in milliseconds. */
export interface OpenLoopOutcome extends OpenLoopReport {
  /** Answers with 200 a second, while the load lasted. */
  throughput: number
  quantile(status: number, share: number): number
}

/** Sends requests at a fixed rate, and waits for their answers. */
export async function sendAtRate(order: OpenLoopOrder): Promise<OpenLoopOutcome> {
  const program = fileURLToPath(new URL('open-loop-process.ts', import.meta.url))
  const child = fork(program, { execArgv: ['--import', 'tsx'] })
  child.send(order)
  const report = await new Promise<OpenLoopReport>((resolve, reject) => {
    child.once('message', message => resolve(message as OpenLoopReport))
    child.once('exit', code => reject(new Error(`The load process ended with ${code} and reported nothing.`)))
  })
  child.kill()
  return {
    ...report,
    throughput: report.successes.filter(([at, took]) => at + took <= order.seconds * 1_000).length / order.seconds,
    quantile(status, share) {
      const sorted = (report.latencies[status] ?? []).toSorted((one, other) => one - other)
      return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0
    },
  }
}
