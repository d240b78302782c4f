import type { FastifyInstance } from 'fastify'
import type { Pool } from './db/connect.ts'
import type { TriggerWatch } from './db/triggers.ts'
import { type ClockWatch, deletePassedStamps, recordClock } from './domain/clock.ts'
import { detectServerChange } from './domain/full-pass.ts'
import { deleteExpiredRequestCounts, type RequestCounter } from './domain/request-count.ts'
import { deleteExpiredRedemptionTokens } from './domain/resolution.ts'
import { deleteExpiredSessions } from './domain/session.ts'
import { createStampQueue } from './domain/stamp-queue.ts'
import type { TokenDirectory } from './domain/token-directory.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/**
 * Runs the background jobs until the service is closed. A job that fails is logged and runs again after its interval.
 *
 * @param pool the service's pool; it may be ended after `app` is closed, when no job runs any more
 * @returns after the first checks of the triggers, of the clock and of the server, whether they fail or not
 */
export async function registerBackgroundJobs(
  app: FastifyInstance,
  pool: Pool,
  {
    tokens,
    clock,
    requestCounter,
    triggers,
  }: { tokens: TokenDirectory; clock: ClockWatch; requestCounter: RequestCounter; triggers: TriggerWatch },
): Promise<void> {
  const timers: NodeJS.Timeout[] = []
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()

  /** Runs a job after each interval, in milliseconds. @returns a function that runs it at once */
  const every = (interval: number, name: string, job: () => Promise<unknown>) => {
    const run = () => {
      const done = job()
        .catch(error => app.log.warn({ err: error }, `failed: ${name}`))
        .finally(() => running.delete(done))
      running.add(done)
      return done
    }
    timers.push(setInterval(run, interval).unref())
    return run
  }

  let stampsCompared = false
  const checks = [
    every(minute, 'check the triggers of the database', triggers.check),
    every(second / 4, 'check the clock of the database', clock.check),
    every(minute, 'compare the newest stamps with the clock of the database', async () => {
      if (stampsCompared) return
      await clock.compareStamps()
      stampsCompared = true
    }),
    every(minute, 'compare the database server with the former one', async () => {
      const former = await detectServerChange(pool)
      if (former === null) return
      app.log.error(
        { former },
        'the database was restored, copied or failed over: changes that clients have seen may be lost, so all clients need a full pass',
      )
    }),
  ]
  every(second / 4, 'stamp what a subscription changed', createStampQueue(pool, closing.signal).process)
  void every(hour, 'delete expired redemption tokens', () => deleteExpiredRedemptionTokens(pool))()
  void every(hour, 'delete expired sessions', () => deleteExpiredSessions(pool))()
  void every(hour, 'delete expired request counts', () => deleteExpiredRequestCounts(pool))()
  void every(hour, 'delete planned stamps that have passed', () => deletePassedStamps(pool))()
  const recordClockNow = every(minute, 'record the clock of the database', () => recordClock(pool))
  const writes = [
    every(5 * second, 'write when tokens were last used', tokens.saveUse),
    every(2 * second, 'write request counts', requestCounter.save),
    recordClockNow,
  ]

  app.addHook('onClose', async () => {
    for (const timer of timers) clearInterval(timer)
    closing.abort()
    await Promise.all([...running, ...writes.map(write => write())])
  })
  await Promise.all(checks.map(check => check()))
  // Last: a check compares the clock with the one that was recorded before.
  await recordClockNow()
}
