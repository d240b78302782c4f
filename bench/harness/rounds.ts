import type { Pool } from '../../src/db/connect.ts'
import type { Call } from './calls.ts'
import { type Clock, processClock } from './cpu.ts'
import type { Asked } from './doors.ts'
import type { Name as ContenderName } from './line-up.ts'
import { connections, type Load } from './load.ts'
import type { Running } from './process.ts'

/** What a contender made of a call in one round. Processor time in microseconds a request, times in milliseconds. */
export interface Figures {
  node: number
  postgres: number
  total: number
  perSecond: number
  p50: number
  p99: number
}

/** A list of rounds for each contender of each call. */
export type Results<Name extends string = ContenderName> = Map<Call, Map<Name, Figures[]>>

/** Each contender's requests for each call, in the order of its samples. */
export type Requests<Name extends string = ContenderName> = Map<Call, Map<Running & { name: Name }, Asked[]>>

/**
 * Measures all calls of all contenders in turns, so that what disturbs one disturbs the others of the round too.
 *
 * @param options.warmUp seconds that each has for itself before the first round
 * @param options.busy how many connections the load keeps busy
 */
export async function measure<Name extends string>(
  requests: Requests<Name>,
  load: Load,
  database: { sql: Pool; clock: Clock },
  { busy = connections, ...options }: { rounds: number; seconds: number; warmUp: number; busy?: number },
  say: (progress: string) => void,
): Promise<Results<Name>> {
  for (const [call, ofCall] of requests) {
    for (const [{ origin }, asked] of ofCall) await load.put(origin, asked, 0, options.warmUp, busy)
    say(`warmed up: ${call.name}`)
  }
  const results: Results<Name> = new Map(
    [...requests].map(([call, ofCall]) => [call, new Map([...ofCall.keys()].map(({ name }) => [name, []]))]),
  )
  for (let round = 0; round < options.rounds; round++) {
    // What resolutions have issued shall not weigh on the later rounds.
    await database.sql`truncate gateway.redemption_token`
    for (const [call, ofCall] of requests) {
      const turns = [...ofCall]
      // Nobody is always the first.
      const rotated = [...turns.slice(round % turns.length), ...turns.slice(0, round % turns.length)]
      for (const [{ name, pid, origin }, asked] of rotated) {
        const clock = processClock(pid)
        const before = { node: clock(), postgres: database.clock() }
        const { requests: count, ...times } = await load.put(origin, asked, round * 37, options.seconds, busy)
        const used = (now: number, then: number) => ((now - then) * 1e6) / count
        const node = used(clock(), before.node)
        const postgres = used(database.clock(), before.postgres)
        results
          .get(call)!
          .get(name)!
          .push({ node, postgres, total: node + postgres, ...times })
      }
    }
    say(`round ${round + 1} of ${options.rounds}`)
  }
  return results
}
