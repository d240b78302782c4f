import { readFileSync, writeFileSync } from 'node:fs'

/** @returns the value below which the given share of the values lies */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN
}

/** @returns the median */
export const median = (values: readonly number[]): number => quantile(values, 0.5)

/** @returns the ratios of what two contenders made of the same rounds: their median, and the least and the most */
export function describeRatios(values: readonly number[], measure: readonly number[]): string {
  const ratios = values.map((value, round) => value / measure[round]!)
  const [mid, least, most] = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map(ratio => ratio.toFixed(2))
  return `${mid} (${least}–${most})`
}

/** @returns the ratios of what two contenders made of the same rounds: their median, and their quartiles */
export function describeQuartiles(values: readonly number[], measure: readonly number[]): string {
  const ratios = values.map((value, round) => value / measure[round]!)
  const [mid, lower, upper] = [median(ratios), quantile(ratios, 0.25), quantile(ratios, 0.75)].map(ratio =>
    ratio.toFixed(2),
  )
  return `${mid} (${lower}–${upper})`
}

/** @returns a Markdown table */
export const table = (heads: string[], rows: string[][]): string =>
  [heads, heads.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`).join('\n')

const results = new URL('RESULTS.md', import.meta.url)

/** Writes a section of RESULTS.md in place of the one with its heading; the others stay. */
export function record(heading: string, text: string): void {
  let former = '# Results\n\nWritten by the benchmarks themselves. Machines differ and share: trust ratios.\n'
  try {
    former = readFileSync(results, 'utf8')
  } catch {
    // The first to be recorded.
  }
  const [preface = '', ...sections] = former.split(/^(?=## )/m)
  const isOurs = (section: string) => section.startsWith(`## ${heading}\n`)
  const ours = `## ${heading}\n\n${text.trim()}\n`
  const place = sections.findIndex(isOurs)
  if (place < 0) sections.push(ours)
  else sections[place] = ours
  writeFileSync(
    results,
    [preface, ...sections]
      .map(section => section.trim())
      .join('\n\n')
      .concat('\n'),
  )
}

const readme = new URL('../README.md', import.meta.url)
const [from, to] = ['<!-- from here: npm run bench -- --record -->', '<!-- to here -->']

/** Writes what stands in the README between its two marks. */
export function recordInReadme(text: string): void {
  const [before, rest = ''] = readFileSync(readme, 'utf8').split(from)
  const [, after] = rest.split(to)
  if (after === undefined) throw new Error(`README.md lacks the lines ${from} and ${to}.`)
  writeFileSync(readme, `${before}${from}\n\n${text.trim()}\n\n${to}${after}`)
}
