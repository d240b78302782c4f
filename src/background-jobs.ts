import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { isOutage } from './db/connection/outage.ts'
import type { Pool } from './db/sql.ts'
import { hideKey } from './doctor/hide-key.ts'
import { deleteExpiredSessions } from './domain/administrator/session.ts'
import { deleteOldDeliveries } from './domain/event/delivery.ts'
import { deleteEndedWindows } from './domain/rate/table.ts'
import { deleteExpiredRedemptionTokens } from './domain/record/redemption-token.ts'
import { deleteFormerKeys } from './domain/record/signing-key.ts'
import { reportServerChange } from './domain/sync/full-pass.ts'
import type { TokenDirectory } from './domain/token/directory.ts'
import { deleteExpiredRequestCounts, type RequestCounter } from './domain/token/request-count.ts'
import { repairCapture } from './projection/capture.ts'
import { checkInterval, checkSomeRecords } from './projection/check.ts'
import { createSteps, deletePassedNotes, stepInterval } from './projection/step.ts'

const second = 1000
const minute = 60 * second
const hour = 60 * minute

/** The maximum wait for running jobs and for the last writes when the service is closed, in milliseconds. */
const closeLimit = second

interface JobOptions {
  tokens: TokenDirectory
  requestCounter: RequestCounter
  checkReadiness: () => Promise<unknown>
  followPlatform: () => Promise<void>
  readSigningKeys: () => Promise<void>
  sendWebhooks: () => Promise<void>
  /** True when this process runs the jobs that only one process of the service has to run. */
  isFirst: boolean
}

/**
 * Runs the background jobs until the service is closed. A job that fails is logged and runs again after its interval.
 *
 * @param pool the service's pool. The caller may end the pool once `app` is closed, because no job runs then
 * @returns a promise that resolves after the first checks of readiness and of the server, even when a check fails
 */
export async function registerBackgroundJobs(
  app: FastifyInstance,
  pool: Pool,
  { tokens, requestCounter, checkReadiness, followPlatform, readSigningKeys, sendWebhooks, isFirst }: JobOptions,
): Promise<void> {
  const timers: NodeJS.Timeout[] = []
  const closing = new AbortController()
  const running = new Set<Promise<unknown>>()

  const start = (name: string, job: () => Promise<unknown>) => {
    const done = job()
      .catch(error =>
        app.failureLog.report({ error, message: `failed: ${name}`, kind: isOutage(error) ? 'outage' : 'job' }),
      )
      .finally(() => running.delete(done))
    running.add(done)
    return done
  }

  /** Runs a job after each interval, in milliseconds. @returns a function that runs the job immediately */
  const every = (interval: number, name: string, job: () => Promise<unknown>) => {
    const run = () => start(name, job)
    timers.push(setInterval(run, interval).unref())
    return run
  }

  /** Runs a job like `every`, but only in one process of the service. */
  const everyInFirstProcess: typeof every = (interval, name, job) =>
    isFirst ? every(interval, name, job) : () => Promise.resolve()

  const { background } = pool
  const checks = [
    // Runs also without calls of `/readyz`, so that the log reports reasons that begin or end.
    every(10 * second, 'look at what is wrong', checkReadiness),
    everyInFirstProcess(second, 'compare the database server with the former one', async () => {
      const former = await reportServerChange(background)
      if (former === null) return
      app.log.error(
        { former },
        'the database was restored, copied or failed over: changes that clients have seen may be lost, so all clients need a full pass. ' +
          'In a copy for tests, or when it was restored to a time before `keys rotate --lost`, run `keys rotate --lost`',
      )
    }),
  ]
  const keepMakingSteps = async () => {
    const makeSteps = createSteps(pool, closing.signal)
    for (let wait = stepInterval; ; ) {
      await pause(wait, undefined, { ref: false })
      if (closing.signal.aborted) return
      wait = stepInterval
      await start('write the records', async () => {
        wait = await makeSteps()
      })
    }
  }
  if (isFirst) void keepMakingSteps()
  everyInFirstProcess(5 * second, 'delete the notes that steps have taken', () => deletePassedNotes(background))
  everyInFirstProcess(5 * second, 'capture sources again', () =>
    repairCapture(background, source =>
      app.log.warn(
        { source },
        'a source was not captured, and is captured again: steps compare all records of its types',
      ),
    ),
  )
  everyInFirstProcess(checkInterval * second, 'compare some records with their sources', async () => {
    const keys = await checkSomeRecords(background)
    if (keys.length === 0) return
    app.log.warn(
      { keys: keys.slice(0, 20).map(name => name.replace(/(?<= ).+/s, hideKey)) },
      `${keys.length} records differed from their sources, and are written again`,
    )
  })
  everyInFirstProcess(5 * second, 'follow the tables of the platform', followPlatform)
  every(5 * second, 'read the signing keys', readSigningKeys)
  everyInFirstProcess(second, 'send webhooks', sendWebhooks)
  void everyInFirstProcess(hour, 'delete old deliveries of webhooks', () => deleteOldDeliveries(background))()
  void everyInFirstProcess(hour, 'delete former signing keys', () => deleteFormerKeys(background))()
  void everyInFirstProcess(hour, 'delete expired redemption tokens', () => deleteExpiredRedemptionTokens(background))()
  void everyInFirstProcess(hour, 'delete expired sessions', () => deleteExpiredSessions(background))()
  void everyInFirstProcess(hour, 'delete expired request counts', () => deleteExpiredRequestCounts(background))()
  everyInFirstProcess(minute, 'delete rate windows that have ended', () => deleteEndedWindows(background))
  const writes = [
    every(5 * second, 'write when tokens were last used', tokens.saveUse),
    every(2 * second, 'write request counts', requestCounter.save),
  ]

  app.addHook('onClose', async () => {
    for (const timer of timers) clearInterval(timer)
    closing.abort()
    const done = Promise.all([...running, ...writes.map(write => write())])
    // A database that does not answer must not keep the service from stopping.
    await Promise.race([done, pause(closeLimit, undefined, { ref: false })])
  })
  await Promise.all(checks.map(check => check()))
}
