import { expect, test } from 'vitest'
import { GatewayError } from '../../src/domain/errors.ts'
import { Semaphore } from '../../src/domain/rate/semaphore.ts'

test('runs and queues calls up to its limits, and rejects further ones; a failed call frees its slot too', async () => {
  const semaphore = new Semaphore({
    maxRunning: 2,
    maxWaiting: 3,
    tooMany: () => new GatewayError('UNAVAILABLE', 'Too many.', { retryAfter: 5 }),
  })
  const ends: ((fails: boolean) => void)[] = []
  const begin = () =>
    semaphore.run(
      () =>
        new Promise<string>((resolve, reject) =>
          ends.push(fails => (fails ? reject(new Error('no')) : resolve('yes'))),
        ),
    )
  const passing = Promise.allSettled(Array.from({ length: 6 }, begin))
  await expect(begin()).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 5 })
  for (let ended = 0; ended < 5; ended++) {
    expect(ends.length).toBe(Math.min(ended + 2, 5))
    ends[ended]?.(ended === 1)
    await new Promise(resolve => setImmediate(resolve))
  }
  const outcomes = (await passing).map(outcome => (outcome.status === 'fulfilled' ? outcome.value : 'no'))
  expect(outcomes).toEqual(['yes', 'no', 'yes', 'yes', 'yes', 'no'])
  // All slots are free again.
  const again = [begin(), begin()]
  expect(ends).toHaveLength(7)
  for (const end of ends) end(false)
  expect(await Promise.all(again)).toEqual(['yes', 'yes'])
})

test('a place that is given back twice is one place', async () => {
  const places = new Semaphore({ maxRunning: 1 })
  const release = await places.take()
  const taken: number[] = []
  for (const next of [2, 3]) void places.take().then(() => taken.push(next))
  release()
  release()
  await new Promise(resolve => setImmediate(resolve))
  expect(taken).toEqual([2])
})
