import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { HttpRequest } from './operations.ts'

/** The outcome of a load. Times in milliseconds. */
export interface Outcome {
  requests: number
  perSecond: number
  p50: number
  p99: number
  /** The bytes of all bodies, as they came over the connections. */
  bytes: number
  /** The number of answers by their status; `errors`: 200 with errors of GraphQL, `broken`: no answer. */
  statuses: Record<string, number>
}

/** The report that the load process sends back. */
interface Report extends Outcome {
  /** The last answer that was not 200. */
  example: string
}

/** The end of a load: after some seconds, or after a number of requests. */
export type Extent = { seconds: number } | { count: number }

/** The number of connections that are usually kept busy at once. */
export const connections = 16

/** A process that sends requests, so that its CPU time counts for no contender. */
export class Load {
  readonly #child: ChildProcess = fork(fileURLToPath(new URL('load-process.mjs', import.meta.url)), { execArgv: [] })
  readonly #ended = once(this.#child, 'exit').then(() => null)

  /**
   * Keeps a server busy.
   *
   * @param first the index of the first request; the others follow in order, again and again
   * @param options.busy how many connections are kept busy; as many as usual when absent
   * @param options.mayFail whether requests may be refused
   * @throws when a request fails that may not
   */
  async run(
    origin: string,
    requests: HttpRequest[],
    first: number,
    extent: Extent,
    { busy = connections, mayFail = false }: { busy?: number | undefined; mayFail?: boolean } = {},
  ): Promise<Outcome> {
    this.#child.send({ origin, requests, first, ...extent, connections: busy })
    const report = await Promise.race([
      once(this.#child, 'message').then(([message]: Report[]) => message!),
      this.#ended,
    ])
    if (report === null) throw new Error('The load process ended.')
    const { example, ...outcome } = report
    const failures = Object.keys(outcome.statuses).some(status => status !== '200')
    if (failures && !mayFail)
      throw new Error(`Requests to ${origin} failed: ${JSON.stringify(outcome.statuses)}, ${example}`)
    return outcome
  }

  stop(): void {
    this.#child.kill()
  }
}
