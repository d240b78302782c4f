/** The command line of a benchmark, and the output of its results. */
import { parseArgs } from 'node:util'
import { record } from './report.ts'

/** The type of an option, from the type of its default value. */
type Widened<Value> = Value extends number ? number : Value extends string ? string : boolean

/** True when `--record` was given. */
let isRecorded = false

/**
 * Reads the options of a benchmark. Each benchmark also has the option `--record`, which writes its results into RESULTS.md.
 *
 * @param defaults the value of each option when it is absent
 * @throws when `--short` is recorded, or a number is none
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
  return { ...options, positionals, isRecorded }
}

/** Prints the results, and writes them into a section of RESULTS.md with `--record`. */
export function publish(heading: string, text: string): void {
  console.log(text)
  if (isRecorded) record(heading, text)
}
