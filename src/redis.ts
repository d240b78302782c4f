import { Redis, type Result } from 'ioredis'

declare module 'ioredis' {
  interface RedisCommander<Context> {
    /** The script `countCalls`. @returns the calls in the window, and milliseconds until it ends */
    countCalls(key: string, calls: number, windowMs: number): Result<[used: number, resetsIn: number], Context>
  }
}

/** Redis runs the script as one step, so no call of another instance comes in between. */
const countCalls = `
redis.call('set', KEYS[1], 0, 'PX', ARGV[2], 'NX')
return { redis.call('incrby', KEYS[1], ARGV[1]), redis.call('pttl', KEYS[1]) }`

/**
 * Connects to Redis, and again each time the connection ends. A command fails immediately while there is no connection,
 * and it is never sent twice, because a call would then count twice.
 *
 * @param url `redis://` or `rediss://`
 */
export function connectRedis(url: string): Redis {
  return new Redis(url, {
    connectionName: 'voucher-gateway',
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: 1000,
    // A connection without an answer to a command is replaced after this time: the server may have moved, or be frozen.
    // ioredis even ends a connection whose answer has arrived but was not read yet, so this time is longer than the
    // deadline of requests, which can keep a process busy.
    socketTimeout: 5000,
    retryStrategy: () => 250,
    // A demoted server keeps its clients, while the address may lead to the new primary.
    reconnectOnError: error => error.message.includes('READONLY'),
  })
}

class RedisError extends Error {
  override readonly name = 'RedisError'
  /** The code of Node's error, or the first word of the reply of Redis: `WRONGPASS`. The log shows it. */
  readonly code: string | undefined

  constructor(cause: unknown) {
    super('Redis has not counted.', { cause })
    if (!(cause instanceof Error)) return
    this.code = 'code' in cause ? String(cause.code) : /^[A-Z]+\b/.exec(cause.message)?.[0]
  }
}

/**
 * Creates a counter of calls in Redis.
 *
 * @param keyPrefix the prefix of all keys
 * @param seconds the length of a window
 * @returns a function that returns the calls in a window, and milliseconds until it resets
 */
export function createRedisCounter(redis: Redis, keyPrefix: string, seconds: number) {
  redis.defineCommand('countCalls', { numberOfKeys: 1, lua: countCalls })
  // The error of a command without a connection does not name the cause.
  let connectionError: unknown = null
  redis.on('error', error => {
    connectionError = error
  })
  redis.on('ready', () => {
    connectionError = null
  })
  return async (key: string, calls: number) => {
    const [used, resetsIn] = await redis.countCalls(`${keyPrefix}:${key}`, calls, seconds * 1000).catch(error => {
      throw new RedisError(connectionError ?? error)
    })
    return { used, resetsIn: Math.max(1, resetsIn) }
  }
}
