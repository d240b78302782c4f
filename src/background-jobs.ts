import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { isOutage } from './db/outage.ts'
import type { Pool } from './db/sql.ts'
import type { TriggerWatch } from './db/triggers.ts'
import { deleteExpiredSessions } from './domain/administrator/session.ts'
import { deleteEndedWindows } from './domain/rate/table.ts'
import { deleteExpiredRedemptionTokens } from './domain/record/redemption-token.ts'
import { type ClockWatch, deletePassedStamps, recordClock } from './domain/sync/clock.ts'
import { createFollower } from './domain/sync/follower.ts'
import { reportServerChange } from './domain/sync/full-pass.ts'
import { createStampQueue } from './domain/sync/stamp-queue.ts'
import { createWatermarkWatch, type WatermarkHolder } from './domain/sync/watermark-holder.ts'
import type { TokenDirectory } from './domain/token/directory.ts'
import { deleteExpiredRequestCounts, type RequestCounter } from './domain/token/request-count.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** The time that jobs and the last writes may take when the service is closed, in milliseconds. */
const closeLimit = second

/**
 * Runs the background jobs until the service is closed. A job that fails is logged and runs again after its interval.
 *
 * @param pool the service's pool; it may be ended after `app` is closed, when no job runs any more
 * @param isFirst whether this process runs the jobs that one process of the service is enough for
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
    isFirst,
  }: {
    tokens: TokenDirectory
    clock: ClockWatch
    requestCounter: RequestCounter
    triggers: TriggerWatch
    isFirst: boolean
  },
): Promise<void> {
  const timers: NodeJS.Timeout[] = []
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()

  /** Runs a job after each interval, in milliseconds. @returns a function that runs it at once */
  const every = (interval: number, name: string, job: () => Promise<unknown>) => {
    const run = () => {
      const done = job()
        .catch(error =>
          app.failureLog.report({ error, message: `failed: ${name}`, kind: isOutage(error) ? 'outage' : 'job' }),
        )
        .finally(() => running.delete(done))
      running.add(done)
      return done
    }
    timers.push(setInterval(run, interval).unref())
    return run
  }

  /** Does the same as `every`, in one process of the service. */
  const everyOnce: typeof every = (interval, name, job) =>
    isFirst ? every(interval, name, job) : () => Promise.resolve()

  let stampsCompared = false
  const checks = [
    every(minute, 'check the triggers of the database', () => triggers.check(pool)),
    every(second / 4, 'check the clock of the database', clock.check),
    every(minute, 'compare the newest stamps with the clock of the database', async () => {
      if (stampsCompared) return
      await clock.compareStamps()
      stampsCompared = true
    }),
    everyOnce(second, 'compare the database server with the former one', async () => {
      const former = await reportServerChange(pool)
      if (former === null) return
      app.log.error(
        { former },
        'the database was restored, copied or failed over: changes that clients have seen may be lost, so all clients need a full pass',
      )
    }),
  ]
  const watermark = createWatermarkWatch(pool, {
    onHeld: holder =>
      app.log.warn({ holder }, `lists show no change of the last ${holder.seconds} seconds: ${describe(holder)}`),
    onReleased: () => app.log.info('lists show all changes again: the transaction that held the watermark has ended'),
  })
  everyOnce(5 * second, 'look for what holds the watermark', watermark)
  const { background } = pool
  everyOnce(second / 4, 'stamp queued records', createStampQueue(background, closing.signal).process)
  everyOnce(second / 5, 'let figures follow the records', createFollower(pool, closing.signal))
  void everyOnce(hour, 'delete expired redemption tokens', () => deleteExpiredRedemptionTokens(background))()
  void everyOnce(hour, 'delete expired sessions', () => deleteExpiredSessions(background))()
  void everyOnce(hour, 'delete expired request counts', () => deleteExpiredRequestCounts(background))()
  void everyOnce(hour, 'delete planned stamps that have passed', () => deletePassedStamps(background))()
  everyOnce(minute, 'delete rate windows that have ended', () => deleteEndedWindows(background))
  // Runs in each process, because the last process to stop is the last one that publishes the clock as `server_time`.
  const recordClockNow = every(second, 'record the clock of the database', () => recordClock(pool))
  const writes = [
    every(5 * second, 'write when tokens were last used', tokens.saveUse),
    every(2 * second, 'write request counts', requestCounter.save),
    recordClockNow,
  ]

  app.addHook('onClose', async () => {
    for (const timer of timers) clearInterval(timer)
    closing.abort()
    const done = Promise.all([...running, ...writes.map(write => write())])
    // A database that does not answer must not keep the service from stopping.
    await Promise.race([done, pause(closeLimit, undefined, { ref: false })])
  })
  await Promise.all([...checks.map(check => check()), recordClockNow()])
}

const describe = ({ gid, pid, login, application, state }: WatermarkHolder): string =>
  gid === null
    ? `the transaction of backend ${pid} (${[application, `login ${login}`, state].filter(Boolean).join(', ')}) holds the watermark`
    : `the prepared transaction ${gid} (login ${login}) holds the watermark`
