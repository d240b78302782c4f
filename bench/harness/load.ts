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
}

/** The report that the load process sends back. */
interface Report extends Outcome {
  failures: number
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
   * @param busy how many connections are kept busy
   * @throws when a request fails
   */
  async run(
    origin: string,
    requests: HttpRequest[],
    first: number,
    extent: Extent,
    busy = connections,
  ): Promise<Outcome> {
    this.#child.send({ origin, requests, first, ...extent, connections: busy })
    const report = await Promise.race([
      once(this.#child, 'message').then(([message]: Report[]) => message!),
      this.#ended,
    ])
    if (report === null) throw new Error('The load process ended.')
    const { failures, example, ...outcome } = report
    if (failures > 0) throw new Error(`${failures} of ${outcome.requests} requests to ${origin} failed: ${example}`)
    return outcome
  }

  stop(): void {
    this.#child.kill()
  }
}
