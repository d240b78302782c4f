import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { Asked } from './doors.ts'

/** What came of a load. Times in milliseconds. */
export interface Outcome {
  requests: number
  perSecond: number
  p50: number
  p99: number
}

interface Report extends Outcome {
  failures: number
  example: string
}

/** How many connections are kept busy at once, unless a benchmark says otherwise. */
export const connections = 16

/** The load process. */
export class Load {
  readonly #child: ChildProcess = fork(fileURLToPath(new URL('load.mjs', import.meta.url)), { execArgv: [] })
  readonly #ended = once(this.#child, 'exit').then(() => null)

  /**
   * Keeps a server busy.
   *
   * @param first which of the requests comes first; the others follow in turns
   * @param busy how many connections are kept busy at once
   * @throws when a request fails
   */
  async put(
    origin: string,
    requests: Asked[],
    first: number,
    seconds: number,
    busy: number = connections,
  ): Promise<Outcome> {
    this.#child.send({ origin, requests, first, seconds, connections: busy })
    const report = await Promise.race([
      once(this.#child, 'message').then(([message]) => message as Report),
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
