/** Compiles the service, and the hand-written service with which it is compared. */
import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { buildSync } from 'esbuild'

/** The project's directory. */
export const root = fileURLToPath(new URL('../../', import.meta.url))

/** @returns the output of git for the project, without the last line break */
export const git = (...args: string[]): string =>
  execFileSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 2 ** 28 }).trim()

/**
 * Compiles the service.
 *
 * @param checkout the directory that holds its package.json
 */
export function buildService(checkout: string): void {
  execFileSync('npm', ['run', '-s', 'build'], { cwd: checkout, stdio: ['ignore', 'inherit', 'inherit'] })
}

/** Compiles the hand-written service, so that no loader compiles it at run time. @returns the path of the program */
export function compileHandWritten(): string {
  const outfile = `${root}bench/dist/hand-written.js`
  buildSync({
    entryPoints: [`${root}bench/hand-written/service.ts`],
    outfile,
    bundle: true,
    external: ['#postgres', 'fastify'],
    platform: 'node',
    format: 'esm',
    target: 'node20',
  })
  return outfile
}
