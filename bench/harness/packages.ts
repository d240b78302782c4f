/** Compiles the service and the contenders. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** The project's directory. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** The benchmarks' directory. */
export const bench = fileURLToPath(new URL('../', import.meta.url))

function run(command: string, args: string[], cwd: string): void {
  execFileSync(command, args, { cwd, stdio: ['ignore', 'inherit', 'inherit'] })
}

/** @returns the output of git for the project, without the last line break */
export const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 }).trim()

/**
 * Compiles the service.
 *
 * @param checkout the directory that holds its package.json
 */
export const buildService = (checkout: string): void => run('npm', ['run', '-s', 'build'], checkout)

/** Compiles the contenders with the service's compiler, so that no process runs through a loader. */
export const compileContenders = (): void => run('npx', ['tsc', '-p', 'bench/contenders'], root)
