import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { atEnd } from './at-end.ts'
import type { HttpRequest } from './operations.ts'

/** The outcome of a load. Times in milliseconds. */
export interface Outcome {
  requests: number
  perSecond: number
  p50: number
  p99: number
  /** The number of bytes of all bodies, as received (compressed bodies are not decompressed). */
  bytes: number
  /** The number of answers by their status; `errors`: 200 with errors of GraphQL, `broken`: no answer. */
  statuses: Record<string, number>
  /** The last answer that was not 200. */
  example: string
}

/** The default number of connections that are kept busy at the same time. */
export const connections = 16

/** The size of a load, and the requests that it sends. */
interface Extent {
  /** The load ends after this number of seconds, or after this number of requests. */
  seconds?: number
  count?: number
  /**
   * The index of the first request. The next requests follow in order, and after the last request comes the first.
   * Default: 0.
   */
  first?: number
  /** The number of connections that are kept busy. Default: the default number above. */
  connections?: number
  /** Whether requests may be refused. */
  mayFail?: boolean
}

/** A process that sends requests until the benchmark ends. Its CPU time is not added to any contender. */
export class Load {
  readonly #child: ChildProcess = fork(fileURLToPath(new URL('load-process.mjs', import.meta.url)), { execArgv: [] })
  readonly #ended = once(this.#child, 'exit').then(() => null)

  constructor() {
    atEnd(async () => this.#child.kill())
  }

  /**
   * Keeps a server busy.
   *
   * @throws when a request fails and no failure is allowed
   */
  async run(origin: string, requests: HttpRequest[], { mayFail = false, ...extent }: Extent): Promise<Outcome> {
    this.#child.send({ origin, requests, first: 0, connections, ...extent })
    const message = once(this.#child, 'message').then(([outcome]: Outcome[]) => outcome!)
    const outcome = await Promise.race([message, this.#ended])
    if (outcome === null) throw new Error('The load process ended.')
    const { statuses, example } = outcome
    if (!mayFail && Object.keys(statuses).some(status => status !== '200'))
      throw new Error(`Requests to ${origin} failed: ${JSON.stringify(statuses)}, ${example}`)
    return outcome
  }
}
