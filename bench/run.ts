/** Runs the benchmark that the first argument names: `npm run bench -- export --short`. */
import { readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { stopAll } from './harness/at-end.ts'

const ownFile = basename(import.meta.filename)
const names = readdirSync(import.meta.dirname)
  .filter(file => file.endsWith('.ts') && file !== ownFile)
  .map(file => basename(file, '.ts'))
const [name = ''] = process.argv.splice(2, 1)
if (!names.includes(name)) throw new Error(`Name a benchmark: ${names.join(', ')}.`)
try {
  await import(`./${name}.ts`)
} finally {
  await stopAll()
}
