import { coalesceReads } from '../../async/coalesce-reads.ts'
import { type Reason, type ReasonCode, reason } from '../../reasons.ts'
import { onPrimary, type Pool, type Sql } from '../sql.ts'

/** The number of consecutive checks without a problem after which an excluded standby is used again. */
const checksToReturn = 4

/**
 * The time for which a new state must last before it is reported, in milliseconds. It is longer than the exclusion
 * after a single late check.
 */
const reportAfterMs = 2_000

/** The last step that a server has applied, and the epoch of its records (`gateway.step`, `gateway.sync_state`). */
export interface LastStep {
  epoch: number
  /** The stamp of the step as a text that sorts by time. */
  stamp: string
}

/** Reads the last step of the primary. @throws Error before the first step, and an error of PostgreSQL on a standby */
export async function readLastStep(sql: Sql): Promise<LastStep> {
  const [step] = await sql<LastStep[]>`
    select /* step.read_last */ epoch, stamp
    from gateway.sync_state, (select stamp from gateway.step order by stamp desc limit 1) step where ${onPrimary(sql)}`
  if (!step) throw new Error('No step was made yet.')
  return step
}

/** Reads the last step of a primary or a standby, and whether the server accepts writes. */
async function readShownStep(sql: Sql): Promise<LastStep & { takesWrites: boolean }> {
  // A pooler that routes reads to standbys also routes this statement, because `current_setting` is not volatile.
  const [shown] = await sql<(LastStep & { takesWrites: boolean })[]>`
    select /* step.read_shown */ epoch, stamp, current_setting('transaction_read_only') = 'off' as "takesWrites"
    from gateway.sync_state, (select stamp from gateway.step order by stamp desc limit 1) step`
  if (!shown) throw new Error('The standby shows no step.')
  return shown
}

/** Returns whether a server with the step `shown` has all records of another step. */
const hasStep = (shown: LastStep, { epoch, stamp }: LastStep) => shown.epoch === epoch && shown.stamp >= stamp

/** The reason why no records are read from a standby. */
type StandbyProblem = Extract<ReasonCode, `STANDBY_${string}`>

export interface StandbyPools {
  pool: Pool
  /** A single connection for checks, on which a statement fails within half a second. */
  probe: Pool
}

export interface StandbyState {
  /** The position of the standby in DATABASE_REPLICA_URLS, from 1. */
  standby: number
  /** The reason why no records are read from the standby; null when records are read from it. */
  problem: StandbyProblem | null
  /**
   * The time between the last step of the standby and the last step of the primary, in seconds; null when one of the
   * steps is unknown.
   */
  lagSeconds: number | null
}

/** Returns the reasons for which records are not read from standbys. */
export const standbyReasons = (standbys: readonly StandbyState[]): Reason[] =>
  standbys.flatMap(({ standby, problem }) => (problem ? [reason(problem, { standby })] : []))

/** A standby. Statements read records from the standby as long as it has the last step of the primary. */
export class Standby {
  /** Undefined before the first check. */
  #problem: StandbyProblem | null | undefined
  /** The number of successful checks since the last problem; infinite before the first problem. */
  #passed = Number.POSITIVE_INFINITY
  #reported: StandbyProblem | null | undefined
  #reporting: NodeJS.Timeout | undefined
  #shown: (LastStep & { takesWrites: boolean }) | null = null
  readonly #underWay = new Set<() => void>()
  readonly #look = coalesceReads(async () => {
    try {
      this.#shown = await readShownStep(this.pools.probe)
      return this.#shown
    } catch (error) {
      // The error is reported here, because several callers may share this read, and their next reads try to connect
      // again.
      this.#become('STANDBY_UNREACHABLE', null, error)
      return null
    }
  })

  /**
   * @param place the position of the standby in DATABASE_REPLICA_URLS, from 1
   * @param onChange called with each new state that lasts for two seconds
   */
  constructor(
    readonly place: number,
    private readonly pools: StandbyPools,
    private readonly onChange: (state: StandbyState, error?: unknown) => void,
  ) {}

  get isUsed(): boolean {
    return this.#problem === null
  }

  /** @param primary the last step of the primary, or null when it is unknown */
  stateComparedWith(primary: LastStep | null): StandbyState {
    const lag = primary && this.#shown ? Date.parse(primary.stamp) - Date.parse(this.#shown.stamp) : null
    const problem = this.#problem === undefined ? 'STANDBY_UNREACHABLE' : this.#problem
    return { standby: this.place, problem, lagSeconds: lag === null ? null : Math.max(0, lag) / 1000 }
  }

  /**
   * Decides whether the standby is used.
   *
   * @param former the primary's last step at the previous check; null when unknown
   */
  async check(former: LastStep | null): Promise<void> {
    const shown = await this.#look()
    if (shown === null) return
    if (shown.takesWrites) this.#become('STANDBY_PROMOTED', former)
    else if (former === null || hasStep(shown, former)) this.#become(null, former)
    else this.#become(shown.epoch === former.epoch ? 'STANDBY_LATE' : 'STANDBY_REPLACED', former)
  }

  #become(problem: StandbyProblem | null, primary: LastStep | null, error?: unknown): void {
    this.#passed = problem === null ? this.#passed + 1 : 0
    if (problem === this.#problem || (problem === null && this.#passed < checksToReturn)) return
    this.#problem = problem
    if (problem === 'STANDBY_UNREACHABLE') for (const giveUp of this.#underWay) giveUp()
    const state = this.stateComparedWith(primary)
    clearTimeout(this.#reporting)
    this.#reporting = setTimeout(() => {
      if (problem !== this.#reported) this.onChange(state, error)
      this.#reported = problem
    }, reportAfterMs).unref()
  }

  /** Returns whether the standby is used and has applied a step. */
  async shows(step: LastStep): Promise<boolean> {
    if (this.isUsed && !(this.#shown && hasStep(this.#shown, step))) await this.run(() => this.#look()).catch(() => {})
    return this.isUsed && this.#shown !== null && hasStep(this.#shown, step)
  }

  /**
   * Runs a read on the pool of the standby.
   *
   * @throws the error of the read; an error without delay when the standby stops answering
   */
  run<Result>(send: (pool: Pool) => PromiseLike<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(new Error('The standby does not answer.'))
      this.#underWay.add(giveUp)
      send(this.pools.pool)
        .then(resolve, reject)
        .then(() => this.#underWay.delete(giveUp))
    })
  }
}
