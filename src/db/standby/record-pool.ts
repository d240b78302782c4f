/**
 * Reads records from standbys (docs/architecture.md, "Standbys"). A standby may answer only when it has the step that
 * was the primary's last step when the statement arrived. So no answer is older than an answer of the primary, and
 * clients may mix answers of all servers. When a statement fails on a standby, for any reason, it runs at the primary.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { coalesceReads } from '../../async/coalesce-reads.ts'
import type { Pool, RecordPool, RecordSql } from '../sql.ts'
import { isStatement, type Statement } from '../statement/statement.ts'
import { type LastStep, readLastStep, Standby, type StandbyPools, type StandbyState } from './standby.ts'

/** The interval of checks, in milliseconds. A standby that is more than one check behind the primary counts as late. */
const checkIntervalMs = 250

/** The time after which a new read of the primary's last step no longer waits for a running read, in milliseconds. */
const maxReadWaitMs = 1_000

/**
 * Opens the connections on which records are read.
 *
 * @param pool the connections to the primary, which answers when no standby can answer
 * @param standbys the pools of each standby; the caller must end these pools, after `close`
 * @param onChange receives each new state of a standby that lasts for two seconds, and the error when the standby
 * cannot be reached
 */
export function openRecordPool(
  pool: Pool,
  standbys: readonly StandbyPools[],
  onChange: (state: StandbyState, error?: unknown) => void,
): { recordPool: RecordPool; states: () => StandbyState[]; close: () => void } {
  const all = standbys.map((pools, index) => new Standby(index + 1, pools, onChange))
  const readPrimary = coalesceReads(() => readLastStep(pool), maxReadWaitMs)
  let primary: LastStep | null = null
  let turn = 0

  async function check(): Promise<void> {
    const former = primary
    const checks = all.map(standby => standby.check(former))
    primary = await readPrimary().catch(() => former)
    await Promise.all(checks)
  }

  /** Returns the next standby, in rotation, that has applied a step; null when no standby has applied the step. */
  async function choose(step: LastStep): Promise<Standby | null> {
    turn = (turn + 1) % all.length
    for (const standby of [...all.slice(turn), ...all.slice(0, turn)]) if (await standby.shows(step)) return standby
    return null
  }

  /** Runs a statement on a standby. @returns false when the statement has to run at the primary */
  async function runOnStandby(statement: Statement, of: (pool: RecordPool) => RecordSql): Promise<boolean> {
    const step = await readPrimary().catch(() => null)
    const standby = step && (await choose(step))
    if (!standby) return false
    try {
      statement.resolve(await standby.run(own => requireStep(of(own), statement, step)))
      return true
    } catch {
      // The error may be only on the standby, for example when the standby has not applied an upgrade or a grant yet.
      return false
    }
  }

  /** @param of returns, for a record pool, the `Sql` that sends the statements */
  function route(of: (pool: RecordPool) => RecordSql): RecordSql {
    return new Proxy(of(pool), {
      apply(target, self, given) {
        const made: unknown = Reflect.apply(target, self, given)
        if (!isStatement(made)) return made
        const toPrimary = made.handler
        made.handler = async statement => {
          if (!all.some(({ isUsed }) => isUsed) || !(await runOnStandby(statement, of))) toPrimary(statement)
        }
        return made
      },
    })
  }

  const timer = setInterval(check, checkIntervalMs).unref()
  void check()
  return {
    recordPool: {
      whileWanted: isWanted => route(own => own.whileWanted(isWanted)),
      expensive: (isWanted, caller) => route(own => own.expensive(isWanted, caller)),
      exports: route(own => own.exports),
    },
    states: () => all.map(standby => standby.stateComparedWith(primary)),
    close: () => clearInterval(timer),
  }
}

/** Checks each standby once. @returns their states */
export async function checkStandbys(pool: Pool, standbys: readonly StandbyPools[]): Promise<StandbyState[]> {
  const primary = await readLastStep(pool).catch(() => null)
  await pause(checkIntervalMs)
  const checked = standbys.map(async (pools, index) => {
    const standby = new Standby(index + 1, pools, () => {})
    await standby.check(primary)
    return standby.stateComparedWith(primary)
  })
  return Promise.all(checked)
}

/** Makes a statement fail on a server that has not applied a step. */
const requireStep = (sql: RecordSql, statement: Statement, { epoch, stamp }: LastStep) =>
  Object.assign(
    sql`select * from (${statement}) answer where gateway.require_step(${epoch}, ${stamp}::text::timestamptz)`,
    { options: statement.options, isRaw: statement.isRaw },
  )
