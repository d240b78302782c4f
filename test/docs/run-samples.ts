// Runs the samples of the guides, each in a process and a directory of its own, as a reader would.

import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import type { sampleLanguages } from '../../src/docs/samples.ts'

const root = join(import.meta.dirname, '../..')

/** The samples, which have files in all languages. */
export const samplesFolder = join(root, 'docs/samples')

/** The extension of a language's samples. */
export type Extension = (typeof sampleLanguages)[number]['extension']

/** The programs that the samples need, by the package that has them. */
const programs = { curl: 'curl', jq: 'jq', php: 'php-cli', python3: 'python3' }

for (const [program, debianPackage] of Object.entries(programs)) {
  try {
    execFileSync(program, ['--version'], { stdio: 'ignore' })
  } catch {
    throw new Error(`The samples need ${program}. Install it: apt-get install ${debianPackage}`)
  }
}

const place = mkdtempSync(join(tmpdir(), 'gateway-samples-'))
afterAll(() => rmSync(place, { recursive: true, force: true }))

/** Compiles the samples in TypeScript against the client's package, as npm would install it. */
function compile(): void {
  cpSync(samplesFolder, place, { recursive: true })
  mkdirSync(join(place, 'node_modules/@voucher-gateway'), { recursive: true })
  mkdirSync(join(place, 'node_modules/@types'))
  symlinkSync(join(root, 'packages/client'), join(place, 'node_modules/@voucher-gateway/client'))
  symlinkSync(join(root, 'node_modules/@types/node'), join(place, 'node_modules/@types/node'))
  writeFileSync(join(place, 'package.json'), '{ "type": "module" }')
  const compilerOptions = { strict: true, target: 'es2022', module: 'nodenext', types: ['node'], skipLibCheck: true }
  writeFileSync(join(place, 'tsconfig.json'), JSON.stringify({ compilerOptions }))
  execFileSync(join(root, 'node_modules/.bin/tsc'), ['-p', place])
}

compile()

const commands: Record<Extension, (file: string) => [program: string, ...args: string[]]> = {
  sh: file => ['bash', `${file}.sh`],
  ts: file => [process.execPath, `${file}.js`],
  py: file => ['python3', `${file}.py`],
  php: file => ['php', '-d', 'display_errors=stderr', `${file}.php`],
}

/** What a sample left. */
export interface SampleRun {
  lines: string[]
  directory: string
}

/**
 * Runs a sample.
 *
 * @param name its folder and name: `paging/all-pages`
 * @param directory the working directory; default: a new one
 * @throws Error when it fails, or writes to its standard error
 */
export function runSample(
  name: string,
  extension: Extension,
  environment: { VOUCHER_GATEWAY_URL: string; VOUCHER_GATEWAY_TOKEN: string },
  args: string[] = [],
  directory = mkdtempSync(join(place, 'run-')),
): Promise<SampleRun> {
  const [program, ...rest] = commands[extension](join(place, name))
  const options = { cwd: directory, env: { PATH: process.env.PATH, ...environment }, timeout: 25_000 }
  return new Promise((resolve, reject) => {
    execFile(program, [...rest, ...args], options, (error, stdout, stderr) => {
      if (error || stderr) reject(new Error(`${name}.${extension}: ${error?.message ?? ''}\n${stdout}\n${stderr}`))
      else resolve({ lines: stdout.split('\n').filter(line => line !== ''), directory })
    })
  })
}

/** Returns the names of all samples, from their files. */
export const sampleFiles = (): string[] =>
  readdirSync(samplesFolder, { recursive: true, encoding: 'utf8' }).filter(name => /\.\w+$/.test(name))
