/** Statistics, tables and the recorded results of all benchmarks. */
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { git } from './packages.ts'

/** Writes a line of progress to standard error, with the seconds since the start of this process. */
export const logProgress = (text: string): void => {
  process.stderr.write(`${process.uptime().toFixed(0).padStart(4)} s  ${text}\n`)
}

/** @returns the value below which the given share of the values lies */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

/** @returns the median */
export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** @returns the ratio of two contenders' values in each round */
export const ratios = (values: readonly number[], bases: readonly number[]): number[] =>
  values.map((value, round) => value / bases[round]!)

/** @returns the median of the rounds' ratios, with their quartiles: `0.98 (0.95–1.02)` */
export function describeRatios(values: readonly number[], bases: readonly number[]): string {
  const found = ratios(values, bases)
  const [middle, lower, upper] = [0.5, 0.25, 0.75].map(share => quantile(found, share).toFixed(2))
  return `${middle} (${lower}–${upper})`
}

/** @returns a Markdown table */
export const table = (heads: string[], rows: string[][]): string =>
  [heads, heads.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')

/** @returns a sentence with the time, the machine and the commit of a measurement */
export function describeRun(postgresVersion: string): string {
  const changed = git('status', '--porcelain', '--', 'src', 'sql', 'schema') === '' ? '' : ' with uncommitted changes'
  return `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model.trim() ?? 'unknown processor'}, \
${availableParallelism()} cores, Node ${process.version}, PostgreSQL ${postgresVersion}, \
commit ${git('rev-parse', '--short', 'HEAD')}${changed}.`
}

const results = new URL('../RESULTS.md', import.meta.url)

/** Replaces a section of RESULTS.md, or adds it. */
export function record(heading: string, text: string): void {
  const [preface = '', ...sections] = readFileSync(results, 'utf8').split(/^(?=## )/m)
  const section = `## ${heading}\n\n${text.trim()}\n`
  const place = sections.findIndex(each => each.startsWith(`## ${heading}\n`))
  if (place < 0) sections.push(section)
  else sections[place] = section
  writeFileSync(results, `${[preface, ...sections].map(each => each.trim()).join('\n\n')}\n`)
}

const performanceDoc = new URL('../../docs/performance.md', import.meta.url)
const [from, to] = ['<!-- from here: npm run bench -- requests --record -->', '<!-- to here -->']

/** Replaces the text between the two marks of docs/performance.md. */
export function recordInDocs(text: string): void {
  const [before, rest = ''] = readFileSync(performanceDoc, 'utf8').split(from)
  const [, after] = rest.split(to)
  if (after === undefined) throw new Error(`docs/performance.md lacks the lines ${from} and ${to}.`)
  writeFileSync(performanceDoc, `${before}${from}\n\n${text.trim()}\n\n${to}${after}`)
}
