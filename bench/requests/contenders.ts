import { contenderTypes } from '../contenders/types.ts'
import { readContract } from '../harness/contract.ts'
import { postgresCpu } from '../harness/cpu-time.ts'
import { graphqlTransport, restTransport, type Transport } from '../harness/operations.ts'
import { bench } from '../harness/packages.ts'
import { baseEnvironment, type Running, startProcess, startService } from '../harness/processes.ts'
import type { Subject } from '../harness/rounds.ts'
import type { SeededDatabase } from '../harness/seeded-database.ts'
import type { Call } from './calls.ts'

/** The description of each contender, for the reader of the results. */
export const meanings = {
  rest: 'this service, v1',
  'rest again': 'the same in another process: the ratio of equals',
  graphql: 'this service, `/graphql`, the same fields',
  L0: 'one statement in which Postgres builds the JSON, Node passes its text on',
  L1: 'hand-written: Fastify, postgres.js, rows mapped to objects, `JSON.stringify`',
  mercurius: 'mercurius with jit and loaders',
} as const

export type Name = keyof typeof meanings

export const isName = (word: string): word is Name => Object.hasOwn(meanings, word)

export const names = Object.keys(meanings).filter(isName)

/** A running contender, and how it is asked. */
export interface Contender extends Subject, Running {
  name: Name
  transport: Transport
}

/** The contract's fields that all contenders serve. */
export const contract = readContract(contenderTypes)

/** @returns whether a contender has the operation that a call asks for */
export const takesPart = (name: Name, call: Call): boolean => !call.onlyServices || name !== 'mercurius'

/** Starts a contender in a process of its own. All have the same database, and as many connections. */
export async function startContender(name: Name, database: SeededDatabase): Promise<Contender> {
  const service = () => startService(database)
  const other = (file: string) => () =>
    startProcess(process.execPath, [bench + file], {
      ...baseEnvironment,
      BENCH_DATABASE: JSON.stringify(database.address),
    })
  const rest = restTransport(database.secret, contract)
  const graphql = graphqlTransport(database.secret, contract)
  const starts: Record<Name, [Transport, () => Promise<Running>]> = {
    rest: [rest, service],
    'rest again': [rest, service],
    graphql: [graphql, service],
    L0: [rest, other('dist/contenders/l0.js')],
    L1: [rest, other('dist/contenders/l1.js')],
    mercurius: [graphql, other('contenders/mercurius.mjs')],
  }
  const [transport, start] = starts[name]
  return { name, transport, postgres: await postgresCpu(database.sql), ...(await start()) }
}
