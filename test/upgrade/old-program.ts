/** The program of a former commit, built from the history of the repository. */
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterFile } from '../support/cleanups.ts'
import { createDirectory } from '../support/directory.ts'

const checkout = join(import.meta.dirname, '../..')

/** Builds the last commit that changed a file. @returns the program to run */
export function buildCommitOf(file: string): string {
  const root = join(createDirectory(), 'old')
  const run = (cwd: string, command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd, encoding: 'utf8', stdio: 'pipe' }).trim()
  const commit = run(checkout, 'git', 'log', '-1', '--format=%H', '--', file)
  run(checkout, 'git', 'worktree', 'add', '--detach', root, commit)
  afterFile(() => {
    run(checkout, 'git', 'worktree', 'remove', '--force', root)
  })
  run(root, 'npm', 'ci', '--prefer-offline')
  run(root, 'npm', 'run', '-s', 'build')
  return join(root, 'dist/main.js')
}
