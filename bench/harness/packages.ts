import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** The project's directory. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** The benchmarks' directory. */
export const bench = fileURLToPath(new URL('../', import.meta.url))

const run = (command: string, args: string[], cwd: string) =>
  execFileSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })

/** Installs the benchmarks' own packages when they are not those of the lock file. */
export function installPackages(): void {
  const lock = createHash('sha256')
    .update(readFileSync(`${bench}package-lock.json`))
    .digest('hex')
  const note = `${bench}node_modules/.made-of`
  if (existsSync(note) && readFileSync(note, 'utf8') === lock) return
  // PostGraphile's packages ask for a later Node than this one; they are run by the one that comes with them.
  run('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error'], bench)
  writeFileSync(note, lock)
}

/** Compiles the service and the contenders by the same compiler, so that nobody runs through a loader. */
export function compile(): void {
  run('npm', ['run', '-s', 'build'], root)
  run('npx', ['tsc', '-p', 'bench/contenders'], root)
  // The contenders use the patched driver too; `#postgres` in bench/package.json cannot lead out of bench.
  cpSync(`${root}dist/postgres`, `${bench}dist/postgres`, { recursive: true })
}

/** The Node 24 that the benchmarks' packages bring, or null when there is none for this machine. */
export function node24(): string | null {
  const path = `${bench}node_modules/node-${process.platform}-${process.arch}/bin/node`
  return existsSync(path) ? path : null
}
