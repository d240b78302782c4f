import { createHash } from 'node:crypto'
import type { Call } from './calls.ts'
import type { SeededDatabase } from './database.ts'
import { type Door, encryptedCursors, graphqlDoor, plainCursors, restDoor } from './doors.ts'
import { bench, node24, root } from './packages.ts'
import { postgraphileDoor } from './postgraphile-door.ts'
import { type Running, startProcess } from './process.ts'

export const names = ['rest', 'rest again', 'graphql', 'L0', 'L1', 'mercurius', 'yoga', 'postgraphile'] as const
export type Name = (typeof names)[number]

/** What each of them is, for the reader of the results. */
export const meanings: Record<Name, string> = {
  rest: 'this service, v1',
  'rest again': 'the same in another process: how far from 1 the ratio of equals comes out',
  graphql: 'this service, `/graphql`, the same fields',
  L0: 'one statement in which Postgres builds the JSON, Node passes its text on',
  L1: 'hand-written: Fastify, postgres.js, rows mapped to objects, `JSON.stringify`',
  mercurius: 'mercurius with jit and loaders',
  yoga: 'plain graphql-yoga with DataLoader',
  postgraphile: 'PostGraphile 5, on Node 24',
}

/** A running contender, and how it is asked. */
export interface Contender extends Running {
  name: Name
  door: Door
}

/** Those that have all of v1. L0, L1 and the GraphQL servers know neither rate, scope, permissions nor watermark. */
const services: Name[] = ['rest', 'rest again', 'graphql', 'L0', 'L1']

/** @returns whether a contender has what a call asks for */
export const takesPart = (name: Name, call: Call): boolean => !call.onlyServices || services.includes(name)

const environment = { PATH: process.env.PATH, HOME: process.env.HOME, NODE_ENV: 'production' }

/** The same for all, so that whoever asks can point anywhere in a list. */
const cursorKey = createHash('sha256').update('benchmark').digest()

/** How this service is asked for v1. */
export const serviceDoor = (secret: string): Door => restDoor(secret, encryptedCursors(cursorKey))

/** How this service is set up. */
export const serviceEnvironment = ({ url }: Pick<SeededDatabase, 'url'>) => ({
  ...environment,
  DATABASE_URL: url,
  DATABASE_POOL: '10',
  PORT: '0',
  RATE_LIMIT_PER_MINUTE: '1000000',
  LOG_LEVEL: 'warn',
  CURSOR_KEY: cursorKey.toString('hex'),
})

/**
 * Starts this service, as it was compiled.
 *
 * @param nodeOptions what Node is to be told besides
 * @param settings what is to be set otherwise in its environment
 */
export const startService = (
  database: SeededDatabase,
  nodeOptions: string[] = [],
  settings: NodeJS.ProcessEnv = {},
): Promise<Running> =>
  startProcess(process.execPath, [...nodeOptions, `${root}dist/main.js`, 'serve'], {
    ...serviceEnvironment(database),
    ...settings,
  })

/**
 * Starts a contender in a process of its own; all have the same database, and as many connections.
 *
 * @returns null when this machine cannot run it
 */
export async function startContender(name: Name, database: SeededDatabase): Promise<Contender | null> {
  const { secret } = database
  const service = () => startService(database)
  const other = (file: string, node = process.execPath) =>
    startProcess(node, [bench + file], { ...environment, BENCH_DATABASE: JSON.stringify(database.address) })
  const rest = serviceDoor(secret)
  const handWritten = restDoor(secret, plainCursors)
  const graphql = graphqlDoor(secret, plainCursors)
  const later = node24()
  const starts: Record<Name, [Door, (() => Promise<Running>) | null]> = {
    rest: [rest, service],
    'rest again': [rest, service],
    graphql: [graphqlDoor(secret, encryptedCursors(cursorKey)), service],
    L0: [handWritten, () => other('dist/contenders/l0.js')],
    L1: [handWritten, () => other('dist/contenders/l1.js')],
    mercurius: [graphql, () => other('contenders/mercurius.mjs')],
    yoga: [graphql, () => other('dist/contenders/yoga.js')],
    postgraphile: [postgraphileDoor(secret), later === null ? null : () => other('contenders/postgraphile.mjs', later)],
  }
  const [door, start] = starts[name]
  return start && { name, door, ...(await start()) }
}
