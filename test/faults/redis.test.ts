/** Redis is killed or suspended, or the table of rates is locked, while callers send requests. */
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { connectRedis } from '../../src/redis.ts'
import { remainingOf } from '../support/app.ts'
import { createBuilders } from '../support/builders.ts'
import { createDatabase } from '../support/database.ts'
import { type Service, serve } from '../support/process.ts'
import { startProxy } from '../support/proxy.ts'
import { startRedis } from '../support/redis.ts'
import { until } from '../support/until.ts'
import { ask, askFor, expectExactBurst, p99, storeLines, storeLinesIn } from './support/burst.ts'
import { isShort, recoveryLimit } from './support/form.ts'

/**
 * The limits, in milliseconds: how much the 99th percentile of the calls may grow without Redis, and the time after the
 * fault until Redis counts again.
 */
const bounds = { added: 60, healed: recoveryLimit }

const database = await createDatabase()
const build = createBuilders(database)
const tenantId = await build.tenant()
const newToken = (rateLimit: number) => build.token([tenantId], { rateLimit })
const newSecret = async () => (await newToken(120)).secret
const redis = await startRedis()

const { failure, recovery } = storeLines
const hasRecovered = (service: Service) => storeLinesIn(service).at(-1) === recovery

/**
 * Checks that one line reports each failure and one line its end. On a busy machine the store can fail several times.
 */
function expectPairs(service: Service): void {
  const lines = storeLinesIn(service)
  expect(lines).toEqual(lines.map((_, at) => (at % 2 === 0 ? failure : recovery)))
}

/** Starts two instances, and measures the first one before a fault. */
async function startInstances(environment: NodeJS.ProcessEnv) {
  const settings = { DATABASE_URL: database.url, LOG_LEVEL: 'info', ...environment }
  const [service, other] = [await serve(settings), await serve(settings)]
  const { secret } = await newToken(1_000_000)
  const before = await askFor(4000, 4, service.restAddress, secret)
  return {
    service,
    other,
    /** Sends calls for four seconds, none of which may fail or wait for the store. */
    async expectUndisturbed() {
      const during = await askFor(4000, 4, service.restAddress, secret)
      expect(new Set(during.map(({ status }) => status))).toEqual(new Set([200]))
      if (!isShort) expect(p99(during) - p99(before)).toBeLessThan(bounds.added)
    },
    /**
     * Checks that both instances together let exactly 120 calls pass, and that the first logged each failure and its
     * end once. Stops both.
     */
    async expectExactAgain() {
      await expectExactBurst([service, other], newSecret, 200)
      expectPairs(service)
      for (const each of [service, other]) expect(await each.stop('SIGTERM')).toBe(0)
    },
  }
}

test.each([
  { fault: 'killed', begin: redis.kill, end: redis.start },
  { fault: 'frozen', begin: redis.freeze, end: redis.thaw },
])('while Redis is $fault no call waits for it, and it counts again two seconds after the fault', async fault => {
  const { service, other, expectUndisturbed, expectExactAgain } = await startInstances({ REDIS_URL: redis.url })
  await Promise.all([expectUndisturbed(), fault.begin()])
  // During the fault, each instance enforces the limit by itself.
  const spent = await expectExactBurst([service], newSecret, 300)

  await fault.end()
  await until('counted in Redis again', () => hasRecovered(service), bounds.healed)
  // After the fault, the instance adds its calls to the shared count.
  const isSpent = async () => (await ask(other.restAddress, spent)).status === 429
  await until('counted by the other instance', isSpent, bounds.healed)
  await expectExactAgain()
})

test('an answer of Redis that arrives while the process is busy is used, although it is read late', async () => {
  const client = connectRedis(redis.url)
  await once(client, 'ready')
  const counted = client.incr('busy')
  for (const end = performance.now() + 1500; performance.now() < end; );
  expect(await counted).toBe(1)
  client.disconnect()
})

test('a service starts while Redis is stopped, and counts in Redis as soon as it runs', async () => {
  await redis.kill()
  const service = await serve({ DATABASE_URL: database.url, REDIS_URL: redis.url, LOG_LEVEL: 'info' })
  expect(storeLinesIn(service)).toEqual([failure])
  expect(service.printed()).toContain('"code":"ECONNREFUSED"')
  const { secret } = await newToken(120)
  expect(remainingOf(await ask(service.restAddress, secret))).toBe(119)
  await redis.start()
  await until('counted in Redis again', () => hasRecovered(service), bounds.healed)
  expect(remainingOf(await ask(service.restAddress, secret))).toBe(118)
  expect(await service.stop('SIGTERM')).toBe(0)
})

test('after a failover, the service counts in the new primary, although the former keeps its connections', async () => {
  const [former, next] = [await startRedis(), await startRedis()]
  const portOf = ({ url }: { url: string }) => Number(new URL(url).port)
  let primary = portOf(former)
  const proxy = await startProxy(() => primary)
  const REDIS_URL = `redis://127.0.0.1:${proxy.port}`
  const service = await serve({ DATABASE_URL: database.url, REDIS_URL, LOG_LEVEL: 'info' })
  const { secret } = await newToken(120)
  expect(remainingOf(await ask(service.restAddress, secret))).toBe(119)

  primary = portOf(next)
  const admin = new Redis(portOf(former))
  await admin.replicaof('127.0.0.1', primary)
  admin.disconnect()
  const isShared = async () => {
    await ask(service.restAddress, secret)
    return ((await next.countCommands()).evalsha ?? 0) > 0
  }
  await until('counted in the new primary', isShared, bounds.healed)
  await until('reported', () => hasRecovered(service), bounds.healed)
  expectPairs(service)
  expect(await service.stop('SIGTERM')).toBe(0)
  proxy.stop()
})

test('while the table of rates is locked, instances start and count separately, then together again', async () => {
  const { service, expectUndisturbed, expectExactAgain } = await startInstances({ RATE_STORE: 'postgres' })
  await database.platform.begin(async sql => {
    await sql`lock table gateway.rate_window in access exclusive mode`
    const late = await serve({ DATABASE_URL: database.url, RATE_STORE: 'postgres', LOG_LEVEL: 'warn' })
    await expectUndisturbed()
    expect(await late.stop('SIGTERM')).toBe(0)
  })
  await until('counted in the table again', () => hasRecovered(service), bounds.healed)
  await expectExactAgain()
})
