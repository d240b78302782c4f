/**
 * Runs Prometheus with short times for tests: it scrapes a service every two seconds, and the alerts of
 * `deploy/alerts.yaml` fire at once.
 */
import { execFile, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { afterFile } from '../support/cleanups.ts'
import { createDirectory } from '../support/directory.ts'
import { canConnect, freePort } from '../support/free-port.ts'
import { until } from '../support/until.ts'

export const alertsFile = join(import.meta.dirname, '../../deploy/alerts.yaml')

/**
 * Runs promtool.
 *
 * @param input the text for its standard input
 * @returns its output
 * @throws Error with the output when promtool fails
 */
export function promtool(args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile('promtool', args, (error, stdout, stderr) =>
      error ? reject(new Error(`promtool ${args.join(' ')}\n${stdout}${stderr}`)) : resolve(stdout),
    )
    child.stdin?.end(input)
  })
}

const Answer = z.object({ data: z.unknown(), error: z.string().optional() })
const Matrix = z.object({ result: z.array(z.unknown()) })
const Rules = z.object({ groups: z.array(z.object({ rules: z.array(z.object({ query: z.string() })) })) })
const Alerts = z.object({ alerts: z.array(z.object({ labels: z.record(z.string(), z.string()) })) })

/** The part of a parsed PromQL expression that selects series. */
const Selector = z.object({
  type: z.enum(['vectorSelector', 'matrixSelector']),
  matchers: z.array(z.object({ name: z.string(), type: z.string(), value: z.string() })),
})

/** Returns each selector in a parsed expression as a separate expression. */
function selectorsIn(parsed: unknown): string[] {
  const selector = Selector.safeParse(parsed).data
  if (selector) return [`{${selector.matchers.map(({ name, type, value }) => name + type + JSON.stringify(value))}}`]
  return typeof parsed === 'object' && parsed !== null ? Object.values(parsed).flatMap(selectorsIn) : []
}

/** Starts Prometheus, which ends after the tests of the file. @param target the host and the port to scrape */
export async function startPrometheus(target: string) {
  const directory = createDirectory()
  const port = await freePort()
  const address = `127.0.0.1:${port}`
  // Ranges of minutes and hours become six seconds, and alerts fire without waiting for `for`.
  const rules = readFileSync(alertsFile, 'utf8')
    .replaceAll(/\[\d+[mh](:\d+m)?\]/g, (_, step) => (step ? '[6s:1s]' : '[6s]'))
    .replaceAll(/^ +for: .*\n/gm, '')
  const configuration = `
# While the database is down, a scrape takes a second.
global: { scrape_interval: 2s, scrape_timeout: 2s, evaluation_interval: 1s }
rule_files: [alerts.yaml]
scrape_configs: [{ job_name: voucher-gateway, static_configs: [{ targets: ['${target}'] }] }]
`
  writeFileSync(join(directory, 'alerts.yaml'), rules)
  writeFileSync(join(directory, 'prometheus.yml'), configuration)
  const files = [`--config.file=${directory}/prometheus.yml`, `--storage.tsdb.path=${directory}/data`]
  const child = spawn('prometheus', [...files, `--web.listen-address=${address}`], { stdio: 'ignore' })
  afterFile(() => child.kill('SIGKILL'))
  const startedAt = Date.now() / 1000

  async function ask<Data>(shape: z.ZodType<Data>, path: string, query: Record<string, string> = {}): Promise<Data> {
    const answer = await fetch(`http://${address}/api/v1/${path}?${new URLSearchParams(query)}`)
    const { data, error } = Answer.parse(await answer.json())
    if (error !== undefined) throw new Error(`${path} ${JSON.stringify(query)}: ${error}`)
    return shape.parse(data)
  }
  await until('Prometheus listens', () => canConnect(port), 30_000)
  await until('Prometheus is ready', async () => (await fetch(`http://${address}/-/ready`)).ok, 30_000)

  return {
    /** Returns true when an expression has had a value since the start of Prometheus. */
    async hasGiven(query: string): Promise<boolean> {
      const range = { start: String(startedAt), end: String(Date.now() / 1000 + 1), step: '1' }
      return (await ask(Matrix, 'query_range', { query, ...range })).result.length > 0
    },
    selectorsOf: async (query: string) => selectorsIn(await ask(z.unknown(), 'parse_query', { query })),
    async expressions(): Promise<string[]> {
      const { groups } = await ask(Rules, 'rules')
      return groups.flatMap(group => group.rules.map(({ query }) => query))
    },
    /** Returns the names of the firing alerts, each with the `code` label of the alert if it has one. */
    async firing(): Promise<string[]> {
      const { alerts } = await ask(Alerts, 'alerts')
      return alerts.map(({ labels: { alertname, code = '' } }) => `${alertname} ${code}`.trim())
    },
  }
}
