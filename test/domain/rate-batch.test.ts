import { expect, test } from 'vitest'
import { RateBatcher } from '../../src/domain/rate/batch.ts'

test('while a round trip has no answer after its limit, further calls are rejected and do not wait for it', async () => {
  let answer = () => {}
  const store = new RateBatcher(async calls => {
    await new Promise<void>(resolve => {
      answer = resolve
    })
    return new Map([...calls].map(([key, used]) => [key, { used, resetsIn: 1 }]))
  }, 200)
  const timeout = { code: 'ETIMEDOUT' }
  await expect(store.hit('key', 1)).rejects.toMatchObject(timeout)
  await expect(store.hit('key', 1)).rejects.toMatchObject(timeout)
  answer()
  await new Promise(setImmediate)
  const counted = store.hit('key', 3)
  await new Promise(setImmediate)
  answer()
  expect(await counted).toEqual({ used: 3, resetsIn: 1 })
})
