/** Tests the progress that `sync` shows on a terminal while it reads a long list. */
import { PassThrough } from 'node:stream'
import { expect, test } from 'vitest'
import { createTerminalReport } from '../../packages/sync/src/progress-bar.ts'

test.each([
  [120, 40],
  [80, 10],
  [60, 0],
])('a terminal of %i columns shows the total, rate and time left, a bar of at most %i, and sentences at the end', async (columns, widest) => {
  const terminal = Object.assign(new PassThrough(), { isTTY: true, columns, rows: 20 })
  let shown = ''
  terminal.on('data', chunk => {
    shown += chunk
  })
  const lines: string[] = []
  const report = createTerminalReport({ out: line => lines.push(line), error: line => lines.push(line) }, terminal)
  const progress = { event: 'progress', tenant: 7, list: 'purchased-vouchers', via: 'export', total: 9_000 } as const
  report({ ...progress, via: 'pages', total: null, received: 50, done: false })
  expect(shown).toBe('')
  report({ ...progress, received: 1_000, done: false })
  while (!/22% \| 2000\/9000 \| [\d,]+\/s \| .* left/.test(shown)) {
    report({ ...progress, received: 2_000, done: false })
    await new Promise(setImmediate)
  }
  report({ ...progress, received: 9_000, done: true })
  expect(shown).toContain('tenant 7, purchased vouchers 22%')
  const bars = [...shown.matchAll(/[█░]+/g)].map(([bar]) => bar.length)
  expect(Math.max(0, ...bars)).toBeLessThanOrEqual(widest)
  expect(bars.length > 0).toBe(widest > 0)
  expect(lines).toEqual(['Tenant 7: 9,000 purchased vouchers by bulk export.'])
})
