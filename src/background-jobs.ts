import type { FastifyInstance } from 'fastify'
import type { Pool } from './db/connect.ts'
import type { TriggerWatch } from './db/triggers.ts'
import { type ClockWatch, deletePassedStamps } from './domain/clock.ts'
import { detectServerChange, recordClock } from './domain/full-pass.ts'
import { deleteExpiredRequestCounts, type RequestCounter } from './domain/request-count.ts'
import { deleteExpiredRedemptionTokens } from './domain/resolution.ts'
import { deleteExpiredSessions } from './domain/session.ts'
import { createStampQueue } from './domain/stamp-queue.ts'
import type { TokenDirectory } from './domain/token-directory.ts'

const second = 1000

/**
 * What the service does beside answering, for as long as it runs. A background job that fails is noted, and done again in
 * its turn.
 *
 * @returns after the first checks of the triggers, of the clock and of the server. One that fails is logged and
 *   repeated; lists are answered meanwhile.
 */
export async function registerBackgroundJobs(
  app: FastifyInstance,
  pool: Pool,
  {
    tokens,
    clock,
    usage,
    triggers,
  }: { tokens: TokenDirectory; clock: ClockWatch; usage: RequestCounter; triggers: TriggerWatch },
): Promise<void> {
  const timers: NodeJS.Timeout[] = []
  const closing = new AbortController()
  const underWay = new Set<Promise<unknown>>()
  const every = (interval: number, what: string, work: () => Promise<unknown>) => {
    const run = () => {
      const done = work()
        .catch(error => app.log.warn({ err: error }, `failed: ${what}`))
        .finally(() => underWay.delete(done))
      underWay.add(done)
      return done
    }
    timers.push(setInterval(run, interval).unref())
    return run
  }

  let stampsCompared = false
  const checks = [
    every(60 * second, 'check the triggers of the database', triggers.look),
    every(second / 4, 'look at the clock of the database', clock.look),
    every(60 * second, 'compare the newest stamps with the clock of the database', async () => {
      if (stampsCompared) return
      await clock.compareStamps()
      stampsCompared = true
    }),
    every(60 * second, 'compare the database server with the former one', async () => {
      const former = await detectServerChange(pool)
      if (former === null) return
      app.log.error(
        { former },
        'the database was restored, copied or failed over: changes that clients have seen may be lost, so a full pass was demanded of them',
      )
    }),
  ]
  every(second / 4, 'move what a subscription changed', createStampQueue(pool, closing.signal).move)
  void every(3600 * second, 'forget old redemption tokens', () => deleteExpiredRedemptionTokens(pool))()
  void every(3600 * second, 'forget old sessions', () => deleteExpiredSessions(pool))()
  void every(3600 * second, 'forget what tokens were used for', () => deleteExpiredRequestCounts(pool))()
  void every(3600 * second, 'delete planned stamps that have passed', () => deletePassedStamps(pool))()
  const noteClockNow = every(60 * second, 'note where the clock of the database is', () => recordClock(pool))
  const saves = [
    every(5 * second, 'save when tokens were last used', tokens.saveUse),
    every(2 * second, 'save what tokens were used for', usage.save),
    noteClockNow,
  ]

  app.addHook('onClose', async () => {
    for (const timer of timers) clearInterval(timer)
    closing.abort()
    // Those under way, too: the pool is closed after this.
    await Promise.all([...underWay, ...saves.map(save => save())])
  })
  await Promise.all(checks.map(check => check()))
  await noteClockNow()
}
