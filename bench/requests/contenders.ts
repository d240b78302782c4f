import { postgresCpu } from '../harness/cpu-time.ts'
import { graphqlTransport, restTransport, type Transport } from '../harness/operations.ts'
import { bench } from '../harness/packages.ts'
import { baseEnvironment, type Running, startProcess, startService } from '../harness/processes.ts'
import type { Subject } from '../harness/rounds.ts'
import type { SeededDatabase } from '../harness/seeded-database.ts'

/** The description of each contender, for the reader of the results. */
export const meanings = {
  rest: 'this service, v1',
  'rest again': 'the same in another process: the ratio of equals',
  graphql: 'this service, `/graphql`, the same fields',
  L0: 'one statement in which Postgres builds the JSON, Node passes its text on',
  L1: 'hand-written: Fastify, postgres.js, rows mapped to objects, `JSON.stringify`',
} as const

export type Name = keyof typeof meanings

export const isName = (word: string): word is Name => Object.hasOwn(meanings, word)

export const names = Object.keys(meanings).filter(isName)

/** A running contender, and how it is asked. */
export interface Contender extends Subject, Running {
  name: Name
  transport: Transport
}

/** Starts a contender in a separate process. All have the same database, and as many connections. */
export async function startContender(name: Name, database: SeededDatabase): Promise<Contender> {
  const transport = (name === 'graphql' ? graphqlTransport : restTransport)(database.secret)
  const environment = { ...baseEnvironment, BENCH_DATABASE: JSON.stringify(database.address) }
  const running =
    name === 'L0' || name === 'L1'
      ? await startProcess(process.execPath, [`${bench}dist/contenders/${name.toLowerCase()}.js`], environment)
      : await startService(database)
  return { name, transport, postgres: await postgresCpu(database.sql), ...running }
}
