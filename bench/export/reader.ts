import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/** The result of a reading. */
export interface Reading {
  seconds: number
  /** In bytes, as they came over the connection. */
  received: number
  /** The last 200 characters. */
  tail: string
}

/** A process that reads responses, so that its CPU time counts for no contender. */
export class Reader {
  readonly #child: ChildProcess = fork(fileURLToPath(new URL('reader.mjs', import.meta.url)), { execArgv: [] })

  /** Reads a response to its end. @throws when it fails */
  async read(url: string, headers: Record<string, string>): Promise<Reading> {
    this.#child.send({ url, headers })
    const [answer]: (Reading & { error?: string })[] = await once(this.#child, 'message')
    if (!answer || answer.error !== undefined) throw new Error(`The export was not read: ${answer?.error}`)
    return answer
  }

  stop(): void {
    this.#child.kill()
  }
}
