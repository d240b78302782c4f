/** The options of a benchmark, its progress and its report. */
import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { parseArgs } from 'node:util'
import { git } from './packages.ts'

/** The type of an option, from the type of its default value. */
type Widened<Value> = Value extends number ? number : Value extends string ? string : boolean

/** True when `--record` was given. */
let isRecorded = false

/**
 * Reads the options of a benchmark. Each benchmark also has the option `--record`, which writes its results into RESULTS.md.
 *
 * @param defaults the value of each option when it is absent
 * @throws when both `--short` and `--record` are given, or the value of a numeric option is no number
 */
export function readOptions<Defaults extends Record<string, number | string | boolean>>(defaults: Defaults) {
  const known = Object.entries({ ...defaults, record: false })
  const types = known.map(([name, value]) => {
    const type: 'boolean' | 'string' = typeof value === 'boolean' ? 'boolean' : 'string'
    return [name, { type }] as const
  })
  const { values, positionals } = parseArgs({ allowPositionals: true, options: Object.fromEntries(types) })
  isRecorded = values.record === true
  if (isRecorded && values.short) throw new Error('The figures of --short are not recorded.')
  const read = known.map(([name, value]) => {
    const given = values[name] ?? value
    if (typeof value !== 'number') return [name, given]
    if (Number.isNaN(Number(given))) throw new Error(`--${name} takes a number.`)
    return [name, Number(given)]
  })
  // Each value has the type of its default, which TypeScript cannot see.
  const options = Object.fromEntries(read) as { [Name in keyof Defaults]: Widened<Defaults[Name]> }
  return { ...options, positionals }
}

/** Writes a line of progress to standard error, with the seconds since the start of this process. */
export const logProgress = (text: string): void => {
  process.stderr.write(`${process.uptime().toFixed(0).padStart(4)} s  ${text}\n`)
}

/** @returns a sentence with the time, the machine and the commit of a measurement */
export function describeRun(postgresVersion: string): string {
  const changed = git('status', '--porcelain', '--', 'src', 'sql', 'schema') === '' ? '' : ' with uncommitted changes'
  return `${new Date().toISOString().slice(0, 10)}, ${cpus()[0]?.model.trim() ?? 'unknown processor'}, \
${availableParallelism()} cores, Node ${process.version}, PostgreSQL ${postgresVersion}, \
commit ${git('rev-parse', '--short', 'HEAD')}${changed}.`
}

/** Prints the results. With `--record` the results replace their section in RESULTS.md, or become a new section. */
export function publish(heading: string, text: string): void {
  console.log(text)
  if (!isRecorded) return
  const results = new URL('../RESULTS.md', import.meta.url)
  const [preface = '', ...sections] = readFileSync(results, 'utf8').split(/^(?=## )/m)
  const place = sections.findIndex(each => each.startsWith(`## ${heading}\n`))
  sections.splice(place < 0 ? sections.length : place, 1, `## ${heading}\n\n${text}`)
  writeFileSync(results, `${[preface, ...sections].map(each => each.trim()).join('\n\n')}\n`)
}
