/** Opens the parts of the service that all requests share, as the configuration says. */
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger, FastifyInstance } from 'fastify'
import type { Config } from './config/config.ts'
import { isOutage } from './db/connection/outage.ts'
import type { Pool } from './db/sql.ts'
import { openRecordPool } from './db/standby/record-pool.ts'
import type { StandbyPools, StandbyState } from './db/standby/standby.ts'
import { createChangeStreams } from './domain/event/change-streams.ts'
import { createHeadFeed } from './domain/event/head-feed.ts'
import { createCursorCipher } from './domain/paging/cursor.ts'
import type { CountCalls } from './domain/rate/batch.ts'
import { ExpensiveRequests } from './domain/rate/expensive-requests.ts'
import { rateWindowSeconds } from './domain/rate/rate.ts'
import { createSharedRateCounter } from './domain/rate/shared-counter.ts'
import { createTableCounter } from './domain/rate/table.ts'
import { RateWindows } from './domain/rate/windows.ts'
import { createIssuer } from './domain/record/redemption-token.ts'
import { createFirstKey, readKeySet, toKeySet } from './domain/record/signing-key.ts'
import { getOrCreateSecret } from './domain/secret/setting.ts'
import { createTenantScope } from './domain/token/scope.ts'
import type { Gateway } from './graphql/context.ts'
import { connectRedis, createRedisCounter } from './redis.ts'

/**
 * The maximum wait for a count in a shared store, in milliseconds. After it, this process counts in its own memory.
 */
const timeLimits = { redis: 50, postgres: 100 }

/** The maximum wait for Redis at the start, in milliseconds. */
const connectTimeout = 1000

/** The maximum wait for the shared store when the service is closed, in milliseconds. */
const closeTimeout = 500

/**
 * Opens the shared parts.
 *
 * @param pools the connections of requests, of the counting of rates, and to standbys
 * @returns the parts that requests share, the signing keys of redemption tokens, the states of the standbys, and
 *   `close`, which closes the feed and the counter of rates
 */
export async function openGateway(
  config: Config,
  { pool, rates, standbys }: { pool: Pool; rates: Pool; standbys: readonly StandbyPools[] },
  { log, failureLog }: Pick<FastifyInstance, 'log' | 'failureLog'>,
) {
  const cursorKey = config.cursorKey ?? (await getOrCreateSecret(pool, 'cursor_key', randomBytes(32)))
  const serviceId = await getOrCreateSecret(pool, 'service_id', randomBytes(16))
  const { keys, ...tokenSettings } = config.redemption
  if (!keys) await createFirstKey(pool)
  let keySet = keys ? toKeySet(keys) : await readKeySet(pool)
  const signingKeys = {
    published: () => keySet.published,
    async refresh() {
      if (!keys) keySet = await readKeySet(pool.background)
    },
  }
  const { counter, close: closeCounter } = await openRateCounter(config, pool, rates, log)
  const reportChange = (state: StandbyState, err?: unknown) => {
    if (state.problem === null) log.info(state, 'records are read from a standby')
    else log.warn({ ...state, err }, 'no records are read from a standby')
  }
  const routed = standbys.length > 0 ? openRecordPool(pool, standbys, reportChange) : null
  const feed = createHeadFeed(pool, error =>
    failureLog.report({
      ...{ error, message: 'failed: read the changed lists' },
      kind: isOutage(error) ? 'outage' : 'job',
    }),
  )
  const gateway: Gateway = {
    pool,
    recordPool: routed?.recordPool ?? pool,
    feed,
    changeStreams: createChangeStreams(feed),
    cursors: createCursorCipher(cursorKey),
    scope: createTenantScope(pool),
    rate: { limit: config.rateLimitPerMinute, counter },
    expensiveRequests: new ExpensiveRequests(),
    issueRedemptionToken: createIssuer(tokenSettings, () => keySet),
    serviceId: serviceId.toString('hex'),
  }
  const close = () => {
    feed.close()
    routed?.close()
    return closeCounter()
  }
  return { gateway, signingKeys, standbyStates: routed?.states ?? (() => []), close }
}

/**
 * Opens the counter in the store that the configuration names (R28).
 *
 * @param pool the service's pool
 * @param ratePool the connection for counting in PostgreSQL; the caller ends it after the counter is closed
 * @returns the counter, and `close`, which within 0.5 s writes this process's own counts to the store, and closes the
 *   connections to Redis
 */
async function openRateCounter(config: Config, pool: Pool, ratePool: Pool, log: FastifyBaseLogger) {
  // The store is not compared here, because the configuration rejects REDIS_URL together with another store.
  if (config.redisUrl !== undefined) return openRedisCounter(config.redisUrl, pool, log)
  if (config.rateStore === 'postgres') return openSharedCounter('postgres', createTableCounter(ratePool), log)
  if (config.databaseUrl !== undefined) {
    log.info('this process counts the rate in its memory: several instances need RATE_STORE=postgres or REDIS_URL')
  }
  return { counter: new RateWindows(), close: async () => {} }
}

async function openRedisCounter(url: string, pool: Pool, log: FastifyBaseLogger) {
  // Each database has a random prefix of its own, because services with different databases may share a Redis.
  const prefix = await getOrCreateSecret(pool, 'rate_key_prefix', randomBytes(6))
  const redis = connectRedis(url)
  const countOne = createRedisCounter(redis, `voucher-gateway:${prefix.toString('hex')}`, rateWindowSeconds)
  await once(redis, 'ready', { signal: AbortSignal.timeout(connectTimeout) }).catch(() => {})
  const count: CountCalls = async calls =>
    new Map(await Promise.all([...calls].map(async ([key, calls]) => [key, await countOne(key, calls)] as const)))
  const { counter, close } = await openSharedCounter('redis', count, log)
  return { counter, close: () => close().then(() => redis.disconnect()) }
}

async function openSharedCounter(store: keyof typeof timeLimits, count: CountCalls, log: FastifyBaseLogger) {
  const report = (error: unknown) => {
    if (error === null) log.info({ store }, 'the store of rates counts again')
    else log.warn({ store, err: error }, 'the store of rates does not answer: this process counts by itself meanwhile')
  }
  const counter = createSharedRateCounter(count, { timeLimit: timeLimits[store], report })
  await counter.check()
  return {
    counter,
    async close() {
      // An error is ignored, because the service only waits until the attempt has ended.
      await Promise.race([counter.share().catch(() => {}), pause(closeTimeout, undefined, { ref: false })])
      counter.close()
    },
  }
}
