import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from '../../db/connect.ts'
import { rateWindowSeconds } from './rate.ts'

/** The interval at which an instance reports itself, in milliseconds. */
export const heartbeatInterval = 250

/** Without a report for this long an instance may not count alone, in milliseconds. Others wait longer for it. */
const aloneFor = 1500
/** An instance that has not reported itself for this long does not count alone, in seconds. */
const deadAfter = 2

/** After an instance has gone, all windows that it opened are over after this long, in seconds. */
const goneAfter = rateWindowSeconds + deadAfter

/** The time that a start waits for the others to count in the database, in milliseconds. */
const joinTimeout = 3000

/**
 * The registry of the instances on a database: one that is alone may count in its memory.
 *
 * An instance counts alone once it has announced that it will, and a report after that has found no other instance. A
 * new instance reports itself, and serves after no other announces that it counts alone. Of two at once, the later
 * report finds the earlier one.
 */
interface InstanceRegistry {
  isAlone(): boolean
  /** Reports this instance, and looks for others. Call it at intervals of `heartbeatInterval`. */
  heartbeat(): Promise<void>
  /** Reports this instance, and waits until no other one counts alone, at most 3 s. */
  join(): Promise<void>
  /** Removes this instance from those that run. */
  leave(): Promise<void>
}

interface Others {
  /** The number of instances that run, or ran so lately that windows which they opened may be open. */
  count: number
  /** True when one of them announces that it counts alone. */
  countAlone: boolean
}

/**
 * Creates the registry of instances, as this instance uses it.
 *
 * @param share shares what was counted in memory; called before another instance may serve
 */
export function createInstanceRegistry(sql: Sql, share: () => Promise<void>): InstanceRegistry {
  const id = randomUUID()
  /** True when the reports announce that this instance counts alone, and when one of them has arrived. */
  let announces = false
  let announced = false
  let alone = false
  let seenAt = Number.NEGATIVE_INFINITY
  let metOthersAt = Number.NEGATIVE_INFINITY

  async function report(): Promise<Others> {
    const now = performance.now()
    const wasAnnounced = announced
    const others = await reportInstance(sql, id, announces)
    announced = announces
    if (others.count > 0) metOthersAt = now
    if (now - metOthersAt < goneAfter * 1000) {
      alone = false
      if (!announced) return others
      // Another instance waits for the next report, which says that all counts are shared.
      await share()
      announces = false
      return report()
    }
    announces = true
    if (wasAnnounced) {
      alone = true
      seenAt = now
    }
    return others
  }

  return {
    isAlone: () => alone && performance.now() - seenAt < aloneFor,

    async heartbeat() {
      await report()
    },

    async join() {
      const deadline = performance.now() + joinTimeout
      while ((await report()).countAlone && performance.now() < deadline) await sleep(25)
      // The second report announces that this instance counts alone, if it may, and the third one confirms it.
      await report()
      await report()
    },

    async leave() {
      alone = false
      await share()
      await sql`delete /* instance.leave */ from gateway.instance where id = ${id}`
    },
  }
}

async function reportInstance(sql: Sql, id: string, countsAlone: boolean): Promise<Others> {
  const [others] = await sql<Others[]>`
    with /* instance.report */ others as (
      select counts_alone and seen_at > clock_timestamp() - make_interval(secs => ${deadAfter}::integer) as counts_alone
      from gateway.instance
      where id <> ${id} and seen_at > clock_timestamp() - make_interval(secs => ${goneAfter}::integer)
    ), reported as (
      insert into gateway.instance (id, seen_at, counts_alone) values (${id}, clock_timestamp(), ${countsAlone})
      on conflict (id) do update set seen_at = excluded.seen_at, counts_alone = excluded.counts_alone
    )
    select count(*)::integer as count, coalesce(bool_or(counts_alone), false) as "countAlone" from others`
  return others ?? { count: 0, countAlone: false }
}

/** Deletes instances that have gone without leaving. */
export async function deleteGoneInstances(sql: Sql): Promise<void> {
  await sql`delete /* instance.delete_gone */ from gateway.instance
            where seen_at < clock_timestamp() - make_interval(secs => ${goneAfter}::integer)`
}
