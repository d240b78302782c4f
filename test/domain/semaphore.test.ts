import { setImmediate } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { GatewayError } from '../../src/domain/errors.ts'
import { Semaphore } from '../../src/domain/rate/semaphore.ts'

test('a semaphore runs and queues calls up to its limits, rejects further calls, and frees the slot of a failed call', async () => {
  const tooMany = () => new GatewayError('UNAVAILABLE', 'Too many.', { retryAfter: 5 })
  const semaphore = new Semaphore({ maxRunning: 2, maxWaiting: 3, tooMany })
  const ends: ((fails: boolean) => void)[] = []
  const begin = () =>
    semaphore.run(async () => {
      if (await new Promise<boolean>(resolve => ends.push(resolve))) throw new Error('no')
    })
  const passing = Promise.allSettled(Array.from({ length: 6 }, begin))
  await expect(begin()).rejects.toMatchObject({ code: 'UNAVAILABLE', retryAfter: 5 })
  for (let ended = 0; ended < 5; ended++) {
    expect(ends).toHaveLength(Math.min(ended + 2, 5))
    ends[ended]?.(ended === 1)
    await setImmediate()
  }
  const outcomes = (await passing).map(({ status }) => status === 'fulfilled')
  expect(outcomes).toEqual([true, false, true, true, true, false])
  void [begin(), begin()]
  expect(ends, 'all slots are free again').toHaveLength(7)
})

test('a slot that is released twice counts as one free slot', async () => {
  const places = new Semaphore({ maxRunning: 1 })
  const release = await places.take()
  const taken: number[] = []
  for (const next of [2, 3]) void places.take().then(() => taken.push(next))
  release()
  release()
  await setImmediate()
  expect(taken).toEqual([2])
})
