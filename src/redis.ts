import { Redis, type Result } from 'ioredis'

declare module 'ioredis' {
  interface RedisCommander<Context> {
    /** The script `countCalls`. @returns the calls in the window, and milliseconds until it ends */
    countCalls(key: string, calls: number, windowMs: number): Result<[used: number, resetsIn: number], Context>
  }
}

/** Redis runs the script as one step, so no call of another instance comes in between. */
const countCallsScript = `
redis.call('set', KEYS[1], 0, 'PX', ARGV[2], 'NX')
return { redis.call('incrby', KEYS[1], ARGV[1]), redis.call('pttl', KEYS[1]) }`

/**
 * Connects to Redis, and connects again each time the connection ends. While there is no connection, commands fail
 * immediately. A command is never sent twice, because a call would then count twice.
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
    // A connection is replaced when a command has no answer after this time, because the server may have moved or may
    // hang. The time is longer than the deadline of requests: ioredis also ends a connection whose answer has arrived
    // but was not read yet, because the process was busy with requests.
    socketTimeout: 5000,
    retryStrategy: () => 250,
    // Connects again after such an error: a demoted server keeps its connections, but the address may already lead to
    // the new primary.
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
  redis.defineCommand('countCalls', { numberOfKeys: 1, lua: countCallsScript })
  // Without a connection, the error of the command does not name the cause, so the error of the connection is reported.
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
