import { connect, serviceRole } from '../../src/db/connect.ts'
import { describeQuartiles, median, table } from '../summary.ts'
import type { Clock } from './cpu.ts'
import type { SeededDatabase } from './database.ts'
import { type Repeated, repeat } from './statements.ts'

/** What a statement took in one round. Processor time in microseconds, the time that it is waited for in milliseconds. */
interface Figures {
  node: number
  postgres: number
  p50: number
}

type Kind = 'on' | 'off'

/** As the driver reads it from an address: the service has no setting of its own for it. */
export const unprepared = (url: string) => `${url}&prepare=false`

/** How many of a statement are under way at once: as many as the pool has connections. */
const busy = 10

async function run(
  pool: ReturnType<typeof connect>,
  clock: Clock,
  statement: Repeated,
  first: number,
  seconds: number,
) {
  const times: number[] = []
  const before = { node: process.cpuUsage(), postgres: clock() }
  const end = performance.now() + seconds * 1000
  let next = first
  const worker = async () => {
    for (let began = performance.now(); began < end; began = performance.now()) {
      await repeat(pool, statement, next++)
      times.push(performance.now() - began)
    }
  }
  await Promise.all(Array.from({ length: busy }, worker))
  const { user, system } = process.cpuUsage(before.node)
  const postgres = ((clock() - before.postgres) * 1e6) / times.length
  return { node: (user + system) / times.length, postgres, p50: median(times) }
}

/**
 * Runs statements of the service with and without preparing them, in turns: by the driver alone, in this process.
 *
 * @returns a table of what each costs
 */
export async function describeStatements(
  database: SeededDatabase,
  clock: Clock,
  statements: Repeated[],
  timing: { rounds: number; seconds: number },
): Promise<string> {
  const settings = { max: busy, statementTimeoutMs: 0, role: serviceRole }
  const pools = {
    on: connect(database.url, settings),
    off: connect(unprepared(database.url), settings),
  }
  if (pools.off.options.prepare) throw new Error('The driver no longer takes `prepare` from an address.')
  const results = statements.map(() => ({ on: [] as Figures[], off: [] as Figures[] }))
  try {
    // The first round is not kept: by then all is compiled, and all connections have prepared what they will.
    for (let round = -1; round < timing.rounds; round++) {
      for (const [index, statement] of statements.entries()) {
        // Nobody is always the first.
        const order: Kind[] = round % 2 === 0 ? ['on', 'off'] : ['off', 'on']
        for (const kind of order) {
          const figures = await run(pools[kind], clock, statement, (round + 1) * 37, timing.seconds)
          if (round >= 0) results[index]![kind].push(figures)
        }
      }
    }
  } finally {
    await Promise.all([pools.on.end(), pools.off.end()])
  }
  const rows = statements.map(({ name }, index) => {
    const { on, off } = results[index]!
    const of = (kind: Figures[], measure: keyof Figures) => kind.map(figures => figures[measure])
    const both = (measure: keyof Figures, digits: number) =>
      [on, off].map(kind => median(of(kind, measure)).toFixed(digits)).join(', ')
    return [
      `\`${name}\``,
      both('node', 0),
      both('postgres', 0),
      both('p50', 2),
      describeQuartiles(of(off, 'node'), of(on, 'node')),
      describeQuartiles(of(off, 'postgres'), of(on, 'postgres')),
      describeQuartiles(of(off, 'p50'), of(on, 'p50')),
    ]
  })
  const heads = [
    'statement',
    'Node, µs: on, off',
    'Postgres, µs: on, off',
    'p50, ms: on, off',
    'Node, off to on',
    'Postgres, off to on',
    'p50, off to on',
  ]
  return table(heads, rows)
}
