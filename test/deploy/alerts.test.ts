/** The alerts and the dashboards as files: rules that hold, a runbook entry for each alert, panels that fit. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { reasonList } from '../../src/reason-list.ts'
import { dashboards } from './dashboards.ts'
import { alertsFile, promtool } from './prometheus.ts'

const root = join(import.meta.dirname, '../..')
const text = readFileSync(alertsFile, 'utf8')
const all = (pattern: RegExp, of = text) => [...of.matchAll(pattern)].map(([, found = '']) => found)
const names = all(/- alert: (\w+)/g)
const unitTests = join(import.meta.dirname, 'alerts.rules.yaml')

test('promtool accepts the rules, and their unit tests hold', async () => {
  await promtool(['check', 'rules', '--lint=all', '--lint-fatal', alertsFile])
  await promtool(['test', 'rules', unitTests])
})

test('a unit test shows that each alert fires', () => {
  const fires = all(/alertname: (\w+)\n +eval_time: \w+\n +exp_alerts:/g, readFileSync(unitTests, 'utf8'))
  expect([...new Set(fires)].sort()).toEqual(names.toSorted())
})

test('each alert has an entry in the runbook, and each entry its alert', () => {
  const runbook = readFileSync(join(root, 'docs/operations.md'), 'utf8').split('\n## Alerts\n')[1]?.split('\n## ')[0]
  expect(all(/^### (\w+)$/gm, runbook).sort()).toEqual(names.toSorted())
  expect(all(/runbook_url: (.*)/g)).toEqual(names.map(name => `docs/operations.md#${name.toLowerCase()}`))
})

test('the codes that alerts name are reasons', () => {
  const codes = all(/code="(\w+)"/g)
  expect(codes.filter(code => !(code in reasonList))).toEqual([])
})

test.each(dashboards)('the panels of $title have their own places', ({ panels }) => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([])
})
