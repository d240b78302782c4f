import { expect, test } from 'vitest'
import { run } from '../support/process.ts'

test.each([
  [[''], ['serve', 'migrate', 'token', 'sync', 'adopt', 'verify', 'help']],
  [['token', 'create', '--perm'], ['--permission']],
])('the completion prints one line for each candidate: %j', async (words, wanted) => {
  const { code, stdout } = await run(['complete', '--', ...words], {})
  const names = stdout.split('\n').map(line => line.split('\t')[0])
  expect([code, names]).toEqual([0, expect.arrayContaining(wanted)])
  expect(new Set(names).size).toBe(names.length)
})

test('a shell gets its script', async () => {
  expect((await run(['complete', 'bash'], {})).stdout).toContain('bash completion for voucher-gateway')
})
