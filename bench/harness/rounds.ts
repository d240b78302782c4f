import { type CpuClock, processCpu } from './cpu-time.ts'
import type { Load } from './load.ts'
import type { HttpRequest } from './operations.ts'
import { logProgress } from './report.ts'

/** A server under measurement. */
export interface Subject {
  name: string
  pid: number
  origin: string
  /** The clock of the database server that it uses. */
  postgres: CpuClock
}

/** The cost of a call to a server in one round. CPU time in microseconds a request, other times in milliseconds. */
export interface Figures {
  node: number
  postgres: number
  total: number
  perSecond: number
  p50: number
  p99: number
}

/** By the call's name: each server's requests, in the same order for all of them. */
export type Requests = Map<string, Map<Subject, HttpRequest[]>>

/** By the call's name, then the server's: one entry for each round. */
export type Results = Map<string, Map<string, Figures[]>>

/** The time of each turn, in seconds. */
export interface Timing {
  rounds: number
  seconds: number
  /** For each server and call before the first round. */
  warmUp: number
  /** The number of connections that are kept busy; default: as many as usual. */
  busy?: number
}

/** @returns the items, beginning with another one in each round, so that none is always the first */
export const rotated = <Item>(items: readonly Item[], round: number): Item[] => [
  ...items.slice(round % items.length),
  ...items.slice(0, round % items.length),
]

/**
 * Measures all calls of all servers in turns: what disturbs one disturbs the others of the round too.
 *
 * @param beforeRound runs before each round, unmeasured
 */
export async function measureRounds(
  requests: Requests,
  load: Load,
  timing: Timing,
  beforeRound?: () => Promise<unknown>,
): Promise<Results> {
  const results: Results = new Map()
  for (const [call, bySubject] of requests) {
    for (const [{ origin }, sent] of bySubject) await load.run(origin, sent, 0, timing.warmUp, timing.busy)
    results.set(call, new Map([...bySubject.keys()].map(({ name }) => [name, []])))
    logProgress(`warmed up: ${call}`)
  }
  for (let round = 0; round < timing.rounds; round++) {
    await beforeRound?.()
    for (const [call, bySubject] of requests) {
      for (const [subject, sent] of rotated([...bySubject], round)) {
        const figures = await measureTurn(subject, sent, load, { first: round * 37, ...timing })
        results.get(call)?.get(subject.name)?.push(figures)
      }
    }
    logProgress(`round ${round + 1} of ${timing.rounds}`)
  }
  return results
}

async function measureTurn(
  { pid, origin, postgres }: Subject,
  requests: HttpRequest[],
  load: Load,
  { first, seconds, busy }: Pick<Timing, 'seconds' | 'busy'> & { first: number },
): Promise<Figures> {
  const clocks = [processCpu(pid), postgres]
  const before = clocks.map(clock => clock())
  const { requests: count, ...outcome } = await load.run(origin, requests, first, seconds, busy)
  const [node, database] = clocks.map((clock, index) => ((clock() - before[index]!) * 1e6) / count)
  return { node: node!, postgres: database!, total: node! + database!, ...outcome }
}
