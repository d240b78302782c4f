/** Installs what the benchmarks need, and compiles the service and the contenders. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The project's directory. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** The benchmarks' directory. */
export const bench = fileURLToPath(new URL('../', import.meta.url))

function run(command: string, args: string[], cwd: string): void {
  execFileSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
}

/** @returns what git prints for the project, without the last line break */
export const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 }).trim()

/** Installs the benchmarks' own packages when they are not those of the lock file. */
export function installPackages(): void {
  const hash = createHash('sha256')
    .update(readFileSync(`${bench}package-lock.json`))
    .digest('hex')
  const installed = `${bench}node_modules/.lock-hash`
  if (existsSync(installed) && readFileSync(installed, 'utf8') === hash) return
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], bench)
  writeFileSync(installed, hash)
}

/**
 * Compiles the service.
 *
 * @param checkout the directory that holds its package.json
 */
export const buildService = (checkout: string): void => run('npm', ['run', '-s', 'build'], checkout)

/** Compiles the contenders with the service's compiler, so that no process runs through a loader. */
export function compileContenders(): void {
  run('npx', ['tsc', '-p', 'bench/contenders'], root)
  // The contenders use the patched driver too; `#postgres` in bench/package.json cannot lead out of bench.
  cpSync(`${root}dist/postgres`, `${bench}dist/postgres`, { recursive: true })
}
