import { expect, test } from 'vitest'
import { allWhenThere, whenThere } from '../../src/domain/when-there.ts'

test('what is there is not waited for', () => {
  expect(whenThere(1, value => value + 1)).toBe(2)
  expect(allWhenThere([1, 2], value => value + 1)).toEqual([2, 3])
})

test.each([[[1]], [[1, 2]]])('what is not there is waited for: %j', async items => {
  const all = allWhenThere(items, item => (item === 1 ? Promise.resolve(item) : item))
  expect(all).toBeInstanceOf(Promise)
  expect(await all).toEqual(items)
})

test.each([
  ['before it', (fail: (error: Error) => void) => fail(new Error('other'))],
  ['after it', (fail: (error: Error) => void) => setTimeout(() => fail(new Error('other')), 10)],
])('what asking throws is what is told, whatever else fails %s; and nothing is left unhandled', async (_, rejectOther) => {
  const other = new Promise<number>((_resolve, reject) => rejectOther(reject))
  const ask = (item: number) => {
    if (item === 2) throw new Error('thrown')
    return other
  }
  await expect(allWhenThere([1, 2], ask)).rejects.toThrow('thrown')
})
