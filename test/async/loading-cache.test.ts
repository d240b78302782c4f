import { setTimeout as pause, setImmediate as turn } from 'node:timers/promises'
import { beforeEach, expect, test } from 'vitest'
import { createLoadingCache } from '../../src/async/loading-cache.ts'

interface Found {
  name: string
}

const lifetime = 500
const [one, other] = [{ name: 'one' }, { name: 'other' }]

/** The loads that have started. The test decides when and how each of them ends. */
let loads: { keys: readonly number[]; finds(found: (Found | null)[]): void; fails(error: Error): void }[]
let cache: ReturnType<typeof createLoadingCache<number, Found>>
beforeEach(() => {
  loads = []
  const load = (keys: readonly number[]) =>
    new Promise<(Found | null)[]>((finds, fails) => loads.push({ keys, finds, fails }))
  cache = createLoadingCache(load, lifetime)
})

/** Starts to load a key. @returns a promise of the value, and the newest load */
async function load(key: number) {
  const value = cache.load(key)
  await turn()
  return { value, ...loads.at(-1)! }
}

test('concurrent loads of a key share one query, and later loads use the cached value', async () => {
  const { value, keys, finds } = await load(1)
  const again = cache.load(1)
  expect(cache.peek(1)).toBeUndefined()
  finds([one])
  expect(await Promise.all([value, again])).toEqual([one, one])
  expect(cache.peek(1)).toEqual(one)
  expect([keys, loads.length]).toEqual([[1], 1])
})

test('a value that was not found is queried again at each load', async () => {
  const first = await load(1)
  first.finds([null])
  expect(await first.value).toBeNull()
  expect(cache.peek(1)).toBeUndefined()
  const second = await load(1)
  second.finds([other])
  expect(await second.value).toEqual(other)
})

test('a failure rejects all loads that share it, and the next load queries again', async () => {
  const { value, fails } = await load(1)
  const both = Promise.allSettled([value, cache.load(1)])
  const lost = new Error('lost')
  fails(lost)
  expect(await both).toMatchObject([{ reason: lost }, { reason: lost }])
  const next = await load(1)
  next.finds([one])
  expect(await next.value).toEqual(one)
})

test('a load that is older than the lifetime gets no new callers, and its value is returned, but not cached', async () => {
  const late = await load(1)
  await pause(2 * lifetime)
  late.finds([one])
  expect(await late.value).toEqual(one)
  expect(cache.peek(1)).toBeUndefined()
  await load(1)
  await pause(2 * lifetime)
  const next = await load(1)
  next.finds([other])
  expect(await next.value).toEqual(other)
})
