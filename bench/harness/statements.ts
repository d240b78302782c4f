import { readConfig } from '../../src/config.ts'
import { connect, serviceRole } from '../../src/db/connect.ts'
import { buildServer } from '../../src/server.ts'
import { capture } from '../../test/graphql/statements.ts'
import type { SeededDatabase } from './database.ts'
import { type Asked, dataOf } from './doors.ts'
import { serviceEnvironment } from './line-up.ts'

/** A statement that the service sends, and what it was sent with, each time. */
export interface Repeated {
  /** What its leading comment calls it. */
  name: string
  text: string
  parameters: unknown[][]
}

/** As the driver runs what is written as a template: prepared, if the pool prepares at all. */
const asTemplate = { prepare: true, simple: false }

/**
 * Runs a statement as the service does, for its cells as they come.
 *
 * @param turn which of its parameters are taken
 */
export const repeat = (pool: ReturnType<typeof connect>, { text, parameters }: Repeated, turn: number) =>
  // What was sent once can be sent again; the driver's type names what it may be.
  pool.unsafe(text, parameters[turn % parameters.length] as never[], asTemplate).raw()

/**
 * Asks the service, in this process, and listens to what it sends to the database.
 *
 * @returns the statements that read, each once
 */
export async function captureStatements(
  database: Pick<SeededDatabase, 'url' | 'address'>,
  asked: Asked[],
): Promise<Repeated[]> {
  const pool = connect(database.address, { max: 1, statementTimeoutMs: 0, role: serviceRole })
  const app = await buildServer(readConfig(serviceEnvironment(database)), pool)
  try {
    const sent = await capture(pool, async () => {
      for (const { method, path, headers, body } of asked) {
        const answer = await app.inject({
          method,
          url: path,
          headers,
          ...(body === undefined ? {} : { payload: body }),
        })
        if (answer.statusCode !== 200) throw new Error(`${path} is answered with ${answer.statusCode}: ${answer.body}`)
        if (path === '/graphql') dataOf(answer.json())
      }
    })
    return collect(sent)
  } finally {
    await app.close()
    await pool.end()
  }
}

/** What the service sends now and then whatever it is asked. */
const backgroundJobs = ['clock.look', 'clock.record', 'full_pass.detect_server_change', 'stamp_queue.process']

/** @returns each statement that only reads, with all its parameters */
export function collect(sent: Awaited<ReturnType<typeof capture>>): Repeated[] {
  const found = new Map<string, Repeated>()
  for (const { name, text, parameters } of sent) {
    const reads = /^\s*(select|with)\b/.test(text) && !/\b(insert into|update|delete from)\s/.test(text)
    if (!reads || backgroundJobs.includes(name)) continue
    const known = found.get(text) ?? { name, text, parameters: [] }
    known.parameters.push(parameters)
    found.set(text, known)
  }
  return [...found.values()]
}
