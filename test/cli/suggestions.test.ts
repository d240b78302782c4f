import { expect, test } from 'vitest'
import { run } from '../support/process.ts'

test.each([
  [['tokn', 'list'], 'token'],
  [['token', 'lst'], 'list'],
  [['token', 'list', '--jsn'], '--json'],
])('a mistyped word is answered with the one that was meant: %s', async (words, meant) => {
  const { code, stderr } = await run(words, {})
  expect(code).toBe(2)
  expect(stderr).toContain(`(Did you mean ${meant}?)`)
})
