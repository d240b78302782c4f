import { expect, test } from 'vitest'
import { allMaybePromise, mapMaybePromise } from '../../src/async/maybe-promise.ts'

test('a value that is no promise is passed on synchronously', () => {
  expect(mapMaybePromise(1, value => value + 1)).toBe(2)
  expect(allMaybePromise([1, 2], value => value + 1)).toEqual([2, 3])
})

test.each([
  ['before it', (fail: (error: Error) => void) => fail(new Error('other'))],
  ['after it', (fail: (error: Error) => void) => setTimeout(() => fail(new Error('other')), 10)],
])('rejects with the error that a call throws, when other calls fail %s, and leaves no rejection unhandled', async (_, rejectOther) => {
  const other = new Promise<number>((_resolve, reject) => rejectOther(reject))
  const ask = (item: number) => {
    if (item === 2) throw new Error('thrown')
    return other
  }
  await expect(allMaybePromise([1, 2], ask)).rejects.toThrow('thrown')
})
