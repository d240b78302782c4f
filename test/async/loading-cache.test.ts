import { beforeEach, expect, test } from 'vitest'
import { createLoadingCache } from '../../src/async/loading-cache.ts'
import { until } from '../support/until.ts'

const lifetime = 500

interface Found {
  name: string
}

/** A load whose result the test decides. */
interface LookUp {
  keys: readonly number[]
  finds(found: (Found | null)[]): void
  fails(error: Error): void
}

let lookUps: LookUp[]
let cache: ReturnType<typeof createLoadingCache<number, Found>>
beforeEach(() => {
  lookUps = []
  cache = createLoadingCache<number, Found>(
    keys => new Promise((finds, fails) => lookUps.push({ keys, finds, fails })),
    lifetime,
  )
})

/** The look-up of that number, once it has begun. */
async function lookUp(place: number): Promise<LookUp> {
  await until(`look-up ${place} begins`, async () => lookUps.length > place)
  const begun = lookUps[place]
  if (!begun) throw new Error('There is no such look-up.')
  return begun
}

/** Waits until what has been looked up so far is too old. */
async function untilTooOld(): Promise<void> {
  const from = performance.now()
  await until('that long has passed', async () => performance.now() - from > 2 * lifetime)
}

test('concurrent loads of a key share one query, and later ones use the cached value', async () => {
  const first = cache.load(1)
  const { keys, finds } = await lookUp(0)
  const second = cache.load(1)
  expect(cache.peek(1)).toBeUndefined()
  finds([{ name: 'one' }])
  expect(await Promise.all([first, second])).toEqual([{ name: 'one' }, { name: 'one' }])
  expect(cache.peek(1)).toEqual({ name: 'one' })
  expect([keys, lookUps.length]).toEqual([[1], 1])
})

test('a joined load does not wait for other keys', async () => {
  const first = cache.load(1)
  const { finds } = await lookUp(0)
  void cache.load(2)
  const joined = cache.load(1)
  await lookUp(1)
  finds([{ name: 'one' }])
  expect(await Promise.all([first, joined])).toEqual([{ name: 'one' }, { name: 'one' }])
})

test('a missing value is queried again each time', async () => {
  const first = cache.load(1)
  ;(await lookUp(0)).finds([null])
  expect(await first).toBeNull()
  expect(cache.peek(1)).toBeUndefined()
  const second = cache.load(1)
  ;(await lookUp(1)).finds([{ name: 'made since' }])
  expect(await second).toEqual({ name: 'made since' })
})

test('a failure rejects all loads that share it, and the next load queries again', async () => {
  const both = [cache.load(1), cache.load(1)]
  ;(await lookUp(0)).fails(new Error('lost'))
  expect(await Promise.allSettled(both)).toMatchObject([
    { reason: { message: 'lost' } },
    { reason: { message: 'lost' } },
  ])
  const next = cache.load(1)
  ;(await lookUp(1)).finds([{ name: 'one' }])
  expect(await next).toEqual({ name: 'one' })
})

test('a load that is older than the lifetime is not joined', async () => {
  void cache.load(1)
  await lookUp(0)
  await untilTooOld()
  const next = cache.load(1)
  ;(await lookUp(1)).finds([{ name: 'newer' }])
  expect(await next).toEqual({ name: 'newer' })
})

test('a value that arrives after its lifetime is returned, but not cached', async () => {
  const first = cache.load(1)
  const { finds } = await lookUp(0)
  await untilTooOld()
  finds([{ name: 'one' }])
  expect(await first).toEqual({ name: 'one' })
  expect(cache.peek(1)).toBeUndefined()
})
