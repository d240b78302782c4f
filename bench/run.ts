/** Runs the benchmark that the first argument names: `npm run bench -- export --short`. */
import { existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'

const own = basename(import.meta.filename)
const names = readdirSync(import.meta.dirname)
  .filter(file => file.endsWith('.ts') && file !== own)
  .map(file => basename(file, '.ts'))
const [name = ''] = process.argv.splice(2, 1)
if (!names.includes(name)) throw new Error(`Name a benchmark: ${names.join(', ')}.`)
if (!existsSync(join(import.meta.dirname, 'node_modules'))) {
  throw new Error('The benchmarks have packages of their own. Install them: npm ci --prefix bench')
}
await import(`./${name}.ts`)
