/** The alerts and the dashboards as files: rules that hold, a runbook entry for each alert, panels that fit. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { errors } from '../../src/reason-list.ts'
import { dashboards } from './dashboards.ts'
import { alertsFile, promtool } from './prometheus.ts'

const root = join(import.meta.dirname, '../..')
const text = readFileSync(alertsFile, 'utf8')
const all = (pattern: RegExp, of = text) => [...of.matchAll(pattern)].map(([, found = '']) => found)
const names = all(/- alert: (\w+)/g)
const unitTests = join(import.meta.dirname, 'alerts.rules.yaml')

const runbook = readFileSync(join(root, 'docs/alerts.md'), 'utf8')

test('promtool accepts the rules, and their unit tests hold', async () => {
  await promtool(['check', 'rules', '--lint=all', '--lint-fatal', alertsFile])
  await promtool(['test', 'rules', unitTests])
})

test('a unit test shows that each alert fires', () => {
  const fires = all(/alertname: (\w+)\n +eval_time: \w+\n +exp_alerts:/g, readFileSync(unitTests, 'utf8'))
  expect([...new Set(fires)].sort()).toEqual(names.toSorted())
})

test('each alert has an entry in the runbook, and each entry its alert', () => {
  expect(all(/^## (\w+)$/gm, runbook).sort()).toEqual(names.toSorted())
  expect(all(/runbook_url: (.*)/g)).toEqual(names.map(name => `docs/alerts.md#${name.toLowerCase()}`))
})

/** The alerts of reasons: each with a function that tells whether it is about a code of the level error. */
const ofReasons = [...text.matchAll(/- alert: (\w+)(?:(?!- alert:)[\s\S])*?vgw_reason\{([^}]*)\}/g)].map(
  ([, name = '', selector = '']) => {
    const [, operator = '', value = ''] = /code(!~|=~|=)"([^"]*)"/.exec(selector) ?? []
    const pattern = new RegExp(`^(${value})$`)
    const isAbout = (code: string) => pattern.test(code) === (operator !== '!~')
    return { name, isAbout: (code: string) => !selector.includes('level="warning"') && isAbout(code) }
  },
)

test('each reason of the level error has one alert, whose entry names it unless it stops all requests', () => {
  const alertsOf = (code: string) => ofReasons.filter(({ isAbout }) => isAbout(code)).map(({ name }) => name)
  for (const code of Object.keys(errors)) {
    const [name = '', ...others] = alertsOf(code)
    expect([name, others], code).toEqual([expect.any(String), []])
    const entry = runbook.split(`## ${name}\n`)[1]?.split('\n## ')[0]
    expect(name === 'VoucherGatewayError' || entry?.includes(`\`${code}\``), `${code} in ${name}`).toBe(true)
  }
  // A code that is none would make its alert needless.
  expect(all(/code="(\w+)"/g).filter(code => !(code in errors))).toEqual([])
})

test('each alert says who has the right to do what it asks for', () => {
  const roles =
    /^'?(The operator of the service|The owner of the (table|schema gateway)|An administrator of the|The people of the platform) /
  expect(all(/ remedy: (.*)/g).filter(remedy => roles.test(remedy))).toHaveLength(names.length)
  const whos = all(/^- Do(.*)$/gm, runbook)
  expect(
    whos.filter(who =>
      /^ \((operator|owner|administrator|platform)(, (operator|owner|administrator|platform))*\): /.test(who),
    ),
  ).toHaveLength(names.length)
})

test('each metric of ours is in a panel or in an alert', () => {
  const shown = text + JSON.stringify(dashboards)
  const own = all(/`((?:vgw|http)_\w+)`/g, readFileSync(join(root, 'docs/metrics.md'), 'utf8'))
  expect(own.length).toBeGreaterThan(20)
  expect(own.filter(name => !shown.includes(name))).toEqual([])
})

test.each(dashboards)('the panels of $title have their own places', ({ panels }) => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([])
})
