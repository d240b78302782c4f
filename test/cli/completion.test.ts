import { expect, test } from 'vitest'
import { run } from '../support/process.ts'

/** Returns the candidates with their descriptions; the last line is a directive for the shell. */
async function complete(...words: string[]): Promise<string[][]> {
  const { code, stdout } = await run(['complete', '--', ...words], {})
  expect(code).toBe(0)
  const lines = stdout.trimEnd().split('\n')
  expect(lines.pop()).toMatch(/^:\d+$/)
  return lines.map(line => line.split('\t'))
}

test.each([
  [[''], ['serve', 'migrate', 'token', 'sync', 'adopt', 'verify', 'complete', 'help']],
  [['token', 'create', '--perm'], ['--permission']],
  [
    ['migrate', '--'],
    ['--wait', '--check', '--status', '--dry-run', '--json', '--help'],
  ],
])('the completion prints one line for each candidate: %j', async (words, wanted) => {
  const candidates = await complete(...words)
  for (const candidate of candidates) expect(candidate).toEqual([expect.stringMatching(/^[\w-]+$/), expect.any(String)])
  const names = candidates.map(([name]) => name)
  expect(names).toEqual(expect.arrayContaining(wanted))
  expect(new Set(names).size).toBe(names.length)
})

test('a shell gets its script', async () => {
  expect((await run(['complete', 'bash'], {})).stdout).toContain('bash completion for voucher-gateway')
})
