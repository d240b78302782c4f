/** Measures servers in turns, and describes the costs of their answers. */
import { type CpuClock, processCpu } from './cpu-time.ts'
import { describeSpread, median, ratios, table } from './goals.ts'
import type { Load } from './load.ts'
import type { HttpRequest } from './operations.ts'
import { logProgress } from './report.ts'

/** A server under measurement. */
export interface Subject {
  name: string
  pid: number
  origin: string
  /** The clock of the database server that the program uses. */
  postgres: CpuClock
}

/**
 * The cost of a call to a server in one round. CPU time is in microseconds per request, other times are in
 * milliseconds.
 */
export interface Figures {
  node: number
  postgres: number
  total: number
  perSecond: number
  p50: number
  p99: number
}

/** The requests for each server, by the call's name. All servers have the same order. */
export type Requests = Map<string, Map<Subject, HttpRequest[]>>

/** The costs by the call's name and then by the server's name, with one entry per round. */
type Results = Map<string, Map<string, Figures[]>>

/** @returns a figure of a server in each round; an empty list when the call or the server was not measured */
export const valuesOf = (results: Results, call: string, subject: string, figure: keyof Figures): number[] =>
  (results.get(call)?.get(subject) ?? []).map(round => round[figure])

/** The number and the length of the rounds of a measurement. */
interface Timing {
  rounds: number
  /** The approximate time of a server's turn, in seconds. All servers get the same number of requests. */
  seconds: number
  /**
   * The number of requests of each call to each server before the first round. It is high enough for V8 to compile
   * their code.
   */
  warmUp: number
}

/** @returns the items, rotated in each round, so that no item is always the first */
export const rotated = <Item>(items: readonly Item[], round: number): Item[] => [
  ...items.slice(round % items.length),
  ...items.slice(0, round % items.length),
]

/**
 * Measures all calls of all servers in turns. In a round each server has two turns, the second in reverse order
 * (A B C C B A), so that a trend during a round affects all of them equally.
 */
export async function measureRounds(requests: Requests, load: Load, timing: Timing): Promise<Results> {
  const results: Results = new Map()
  const counts = new Map<string, number>()
  for (const [call, bySubject] of requests) {
    const rates: number[] = []
    for (const [{ origin }, sent] of bySubject) {
      rates.push((await load.run(origin, sent, { count: timing.warmUp })).perSecond)
    }
    counts.set(call, Math.ceil(Math.min(...rates) * timing.seconds))
    results.set(call, new Map([...bySubject.keys()].map(({ name }) => [name, []])))
    logProgress(`warmed up: ${call}`)
  }
  for (let round = 0; round < timing.rounds; round++) {
    for (const [call, bySubject] of requests) {
      const turns = new Map<Subject, Figures[]>()
      const order = rotated([...bySubject], round)
      for (const [subject, sent] of [...order, ...order.toReversed()]) {
        const figures = await measureTurn(subject, sent, load, { first: round * 37, count: counts.get(call) ?? 1 })
        turns.set(subject, [...(turns.get(subject) ?? []), figures])
      }
      for (const [{ name }, [one, other]] of turns) results.get(call)?.get(name)?.push(mean(one!, other!))
    }
    logProgress(`round ${round + 1} of ${timing.rounds}`)
  }
  return results
}

/** @returns the mean of each figure of two turns with equally many requests */
function mean(one: Figures, other: Figures): Figures {
  const of = (name: keyof Figures) => (one[name] + other[name]) / 2
  const times = { perSecond: of('perSecond'), p50: of('p50'), p99: of('p99') }
  return { node: of('node'), postgres: of('postgres'), total: of('total'), ...times }
}

async function measureTurn(
  { pid, origin, postgres }: Subject,
  requests: HttpRequest[],
  load: Load,
  turn: { first: number; count: number },
): Promise<Figures> {
  const clocks = [processCpu(pid), postgres]
  const before = clocks.map(clock => clock())
  const { requests: answered, perSecond, p50, p99 } = await load.run(origin, requests, turn)
  const [node, database] = clocks.map((clock, index) => ((clock() - before[index]!) * 1e6) / answered)
  return { node: node!, postgres: database!, total: node! + database!, perSecond, p50, p99 }
}

/**
 * @param baseOf returns the name of the server to which the costs of another are ratios
 * @returns a table of all calls, with medians, and with ratios to the base in the same round and the quartiles of these
 * ratios
 */
export function describeCosts(results: Results, baseOf: (name: string) => string): string {
  const rows = [...results].flatMap(([call, bySubject]) =>
    [...bySubject].map(([name, rounds]) => {
      const middle = (figure: keyof Figures, digits = 0) => median(rounds.map(each => each[figure])).toFixed(digits)
      const ratio = (figure: keyof Figures) => {
        const base = valuesOf(results, call, baseOf(name), figure)
        const values = valuesOf(results, call, name, figure)
        return base.length > 0 ? describeSpread(ratios(values, base)) : '–'
      }
      const times = [middle('perSecond'), middle('p50', 1), middle('p99', 1)]
      return [call, name, middle('node'), middle('postgres'), baseOf(name), ratio('node'), ratio('total'), ...times]
    }),
  )
  const compared = ['base', 'Node / base', 'Node + Postgres / base']
  return table(['call', '', 'Node, µs', 'Postgres, µs', ...compared, 'per second', 'p50, ms', 'p99, ms'], rows)
}
