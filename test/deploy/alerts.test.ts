/**
 * Checks the files of the alerts and the dashboards. Each rule must work, each alert needs a runbook entry, and panels
 * must not overlap.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { errors } from '../../src/reason-list.ts'
import { createDirectory } from '../support/directory.ts'
import { dashboards } from './dashboards.ts'
import { alertsFile, promtool } from './prometheus.ts'

const root = join(import.meta.dirname, '../..')
const alertsText = readFileSync(alertsFile, 'utf8')
const findAll = (pattern: RegExp, of = alertsText) => [...of.matchAll(pattern)].map(([, found = '']) => found)
const alertNames = findAll(/- alert: (\w+)/g)
const runbook = readFileSync(join(root, 'docs/alerts.md'), 'utf8')

const Text = z.string()
const Texts = z.record(Text, Text)
const Rules = z.object({
  groups: z.tuple([z.object({ rules: z.array(z.object({ alert: Text, labels: Texts, annotations: Texts })) })]),
})
const Cases = z.array(
  z.object({
    name: Text,
    interval: Text.default('1m'),
    series: Texts.default({}),
    alerts: z.record(
      Text,
      z.object({ silent: z.array(Text).default([]), fires: Text, labels: Texts, summary: Text.optional() }),
    ),
  }),
)
const cases = Cases.parse(parse(readFileSync(join(import.meta.dirname, 'alerts.cases.yaml'), 'utf8')))
const rules = new Map(Rules.parse(parse(alertsText)).groups[0].rules.map(rule => [rule.alert, rule]))

/** The cases in the format of promtool. A text without values is copied from its rule. */
const unitTests = cases.map(({ name, interval, series, alerts }) => ({
  ...{ name, interval },
  input_series: Object.entries(series).map(([series, values]) => ({ series, values })),
  alert_rule_test: Object.entries(alerts).flatMap(([alertname, { silent, fires, labels, summary }]) => {
    const rule = rules.get(alertname)
    const annotations = { ...rule?.annotations, ...(summary !== undefined && { summary }) }
    const expected = { exp_labels: { ...rule?.labels, ...labels }, exp_annotations: annotations }
    const fired = { alertname, eval_time: fires, exp_alerts: [expected] }
    return [...silent.map(eval_time => ({ alertname, eval_time })), fired]
  }),
}))

test('promtool accepts the rules, and each alert fires at the expected time, but not earlier', async () => {
  await promtool(['check', 'rules', '--lint=all', '--lint-fatal', alertsFile])
  const file = join(createDirectory(), 'alerts.json')
  writeFileSync(file, JSON.stringify({ rule_files: [alertsFile], evaluation_interval: '1m', tests: unitTests }))
  await promtool(['test', 'rules', file])
  expect(cases.flatMap(({ alerts }) => Object.keys(alerts)).filter(name => !alertNames.includes(name))).toEqual([])
  expect(alertNames.filter(name => !cases.some(({ alerts }) => name in alerts))).toEqual([])
})

test('each alert has an entry in the runbook, and each entry of the runbook has an alert', () => {
  expect(findAll(/^## (\w+)$/gm, runbook).sort()).toEqual(alertNames.toSorted())
  expect(findAll(/runbook_url: (.*)/g)).toEqual(alertNames.map(name => `docs/alerts.md#${name.toLowerCase()}`))
})

/** The alerts about reasons. `isAbout` returns true for a code of the level error for which the alert fires. */
const reasonAlerts = [...alertsText.matchAll(/- alert: (\w+)(?:(?!- alert:)[\s\S])*?vgw_reason\{([^}]*)\}/g)].map(
  ([, name = '', selector = '']) => {
    const [, operator = '', value = ''] = /code(!~|=~|=)"([^"]*)"/.exec(selector) ?? []
    const pattern = new RegExp(`^(${value})$`)
    const isAbout = (code: string) => pattern.test(code) === (operator !== '!~')
    return { name, isAbout: (code: string) => !selector.includes('level="warning"') && isAbout(code) }
  },
)

test('each reason of the level error has one alert, and its runbook entry names the reason, except in VoucherGatewayError', () => {
  const alertsOf = (code: string) => reasonAlerts.filter(({ isAbout }) => isAbout(code)).map(({ name }) => name)
  for (const code of Object.keys(errors)) {
    const [name = '', ...others] = alertsOf(code)
    expect([name, others], code).toEqual([expect.any(String), []])
    const entry = runbook.split(`## ${name}\n`)[1]?.split('\n## ')[0]
    expect(name === 'VoucherGatewayError' || entry?.includes(`\`${code}\``), `${code} in ${name}`).toBe(true)
  }
  // An alert about an unknown code would never fire.
  expect(findAll(/code="(\w+)"/g).filter(code => !(code in errors))).toEqual([])
})

test('each alert names the person who has the rights for its remedy', () => {
  const roles =
    /^'?(The operator of the service|The owner of the (table|schema gateway)|An administrator of the|The people of the platform) /
  expect(findAll(/ remedy: (.*)/g).filter(remedy => roles.test(remedy))).toHaveLength(alertNames.length)
  const whos = findAll(/^- Do(.*)$/gm, runbook)
  const role = '(operator|owner|administrator|platform)'
  const known = new RegExp(`^ \\(${role}(, ${role})*\\): `)
  expect(whos.filter(who => known.test(who))).toHaveLength(alertNames.length)
})

test('each metric of the service is in a panel or in an alert', () => {
  const shown = alertsText + JSON.stringify(dashboards)
  const own = findAll(/`((?:vgw|http)_\w+)`/g, readFileSync(join(root, 'docs/metrics.md'), 'utf8'))
  expect(own.length).toBeGreaterThan(20)
  expect(own.filter(name => !shown.includes(name))).toEqual([])
})

test.each(dashboards)('the panels of $title do not overlap', ({ panels }) => {
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
    Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
  )
  expect(new Set(cells).size).toBe(cells.length)
  expect(panels.filter(({ gridPos: { x, w } }) => x + w > 24)).toEqual([])
})
