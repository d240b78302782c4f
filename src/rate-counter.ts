import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { FastifyBaseLogger } from 'fastify'
import type { Config } from './config.ts'
import { connect, type Pool, serviceRole } from './db/connect.ts'
import { connectRedis, createRedisCounter } from './db/redis.ts'
import type { CountCalls } from './domain/rate/batch.ts'
import { createInstanceRegistry, heartbeatInterval } from './domain/rate/instance-registry.ts'
import type { RateCounter } from './domain/rate/rate.ts'
import { rateWindowSeconds } from './domain/rate/rate.ts'
import { createSharedRateCounter, type SharedRateCounter } from './domain/rate/shared.ts'
import { countInTable, listOpenWindows } from './domain/rate/table.ts'
import { RateWindows } from './domain/rate/windows.ts'
import { getOrCreateSecret } from './domain/setting.ts'

type RateLog = Pick<FastifyBaseLogger, 'info' | 'warn'>

/** An open counter of rates. */
export interface OpenRateCounter {
  counter: RateCounter
  /** Shares what this process has counted, and closes connections. Takes at most 0.75 s. */
  close(): Promise<void>
}

/** The time that counting may take before this process counts by itself, in milliseconds. */
const timeLimits = { redis: 50, postgres: 100, primary: 300 }

/** The longest statement on a connection for rates, in milliseconds. */
const statementTimeoutMs = 500

/** The statement timeout of sessions behind a pooler (docs/scaling.md), in milliseconds. */
const pooledStatementTimeoutMs = 4000

/** The time that a start waits for Redis, in milliseconds. */
const connectTimeout = 1000

/** The time that closing waits for the store, in milliseconds. */
const closeTimeout = 500

/** The time that connections for rates may take to end, in seconds. */
const endTimeout = 0.25

/**
 * Opens the counter that the configuration asks for (R28): in Redis when `REDIS_URL` is set; in the memory of this
 * process when the database is embedded, because no other instance can use it; otherwise in the memory while this is
 * the only instance on the database, and in the database while there are others.
 *
 * @param pool the service's pool
 * @param countInPrimary in a worker: counts in the primary process, which has opened the counter, unless it is in Redis
 */
export async function openRateCounter(
  config: Config,
  pool: Pool,
  log: RateLog,
  countInPrimary?: CountCalls,
): Promise<OpenRateCounter> {
  if (config.redisUrl !== undefined) return openRedisCounter(config.redisUrl, pool, log)
  if (countInPrimary) {
    const report = reportRateStore(log, 'primary')
    const counter = createSharedRateCounter(countInPrimary, { timeLimit: timeLimits.primary, report })
    return { counter, close: () => settle(counter) }
  }
  return config.databaseUrl === undefined
    ? createMemoryRateCounter()
    : openTableCounter(config.databaseUrl, config, log)
}

/** Returns a counter in the memory of this process. */
export const createMemoryRateCounter = (): OpenRateCounter => ({ counter: new RateWindows(), close: async () => {} })

/** Makes what logs that the store of rates has failed, and that it counts again. */
const reportRateStore = (log: RateLog, store: string) => (error: unknown) => {
  if (error === null) log.info({ store }, 'the store of rates counts again')
  else log.warn({ store, err: error }, 'the store of rates does not answer: this process counts by itself meanwhile')
}

async function openRedisCounter(url: string, pool: Pool, log: RateLog): Promise<OpenRateCounter> {
  // Services with different databases may share a Redis.
  const prefix = await getOrCreateSecret(pool, 'rate_key_prefix', randomBytes(6))
  const redis = connectRedis(url)
  const countOne = createRedisCounter(redis, `voucher-gateway:${prefix.toString('hex')}`, rateWindowSeconds)
  const counter = createSharedRateCounter(
    async calls =>
      new Map(await Promise.all([...calls].map(async ([key, count]) => [key, await countOne(key, count)] as const))),
    { timeLimit: timeLimits.redis, report: reportRateStore(log, 'redis') },
  )
  await once(redis, 'ready', { signal: AbortSignal.timeout(connectTimeout) }).catch(() => {})
  await counter.check()
  return {
    counter,
    async close() {
      await settle(counter)
      redis.disconnect()
    },
  }
}

async function openTableCounter(
  databaseUrl: string,
  { startupParameters }: Config,
  log: RateLog,
): Promise<OpenRateCounter> {
  // Connections of its own: counting neither waits for other statements nor holds them up.
  const pool = connect(databaseUrl, {
    max: 2,
    startupParameters,
    // A pooler's sessions have the service's own limit.
    statementTimeoutMs: startupParameters ? statementTimeoutMs : pooledStatementTimeoutMs,
    answerTimeoutMs: 2 * statementTimeoutMs,
    role: serviceRole,
  })
  const counter: SharedRateCounter = createSharedRateCounter(countInTable(pool), {
    timeLimit: timeLimits.postgres,
    report: reportRateStore(log, 'postgres'),
    isAlone: () => registry.isAlone(),
  })
  const registry = createInstanceRegistry(pool, counter.share)
  try {
    await registry.join()
    if (registry.isAlone()) {
      for (const [key, window] of await listOpenWindows(pool)) counter.windows.refresh(key, window)
    }
  } catch (error) {
    // Like a failure while it serves: the service starts, does not count alone, and sends heartbeats.
    log.warn({ store: 'postgres', err: error }, 'the store of rates cannot be used at start')
  }
  await counter.check()

  let heartbeat = Promise.resolve()
  let timer: NodeJS.Timeout
  let closing = false
  const scheduleHeartbeat = () => {
    timer = setTimeout(() => {
      // A failure is not logged: the counts then fail too, and report it.
      heartbeat = registry
        .heartbeat()
        .then(undefined, () => {})
        .finally(scheduleHeartbeat)
    }, heartbeatInterval).unref()
    if (closing) clearTimeout(timer)
  }
  scheduleHeartbeat()

  return {
    counter,
    async close() {
      closing = true
      clearTimeout(timer)
      await within(closeTimeout, heartbeat.then(registry.leave))
      counter.close()
      await pool.end({ timeout: endTimeout })
    },
  }
}

/** Shares the last counts, if the store answers. */
async function settle(counter: SharedRateCounter): Promise<void> {
  await within(closeTimeout, counter.share())
  counter.close()
}

/** Waits for work, at most for a time in milliseconds. A failure counts as done. */
async function within(timeout: number, work: Promise<unknown>): Promise<void> {
  let timer: NodeJS.Timeout | undefined
  const limit = new Promise(resolve => {
    timer = setTimeout(resolve, timeout)
  })
  await Promise.race([work.catch(() => {}), limit])
  clearTimeout(timer)
}
