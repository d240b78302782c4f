/** Directories in which two versions of the service are built. */
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { buildService, git, root } from '../harness/packages.ts'

/** Writes the files of a commit into a new directory. */
export function exportCommit(commit: string, directory: string): void {
  mkdirSync(directory)
  const archive = execFileSync('git', ['archive', commit], { cwd: root, maxBuffer: 2 ** 30 })
  execFileSync('tar', ['-x', '-C', directory], { input: archive })
}

/** Copies the working tree into a new directory, without what git ignores: it may change during the benchmark. */
export function copyWorkingTree(directory: string): void {
  mkdirSync(directory)
  const files = git('ls-files', '-co', '--exclude-standard', '-z').split('\0')
  for (const file of files) {
    // A deleted file is listed until its deletion is committed.
    if (file !== '' && existsSync(join(root, file))) cpSync(join(root, file), join(directory, file))
  }
}

/** Builds the service of a directory, with the working tree's packages when the lock files are the same. */
export function build(directory: string): void {
  const lock = (place: string) => readFileSync(join(place, 'package-lock.json'), 'utf8')
  if (lock(directory) === lock(root)) symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  else {
    execFileSync('npm', ['ci', '--no-audit', '--no-fund', '--loglevel=error', '--prefer-offline'], {
      cwd: directory,
      // The standard output is the result, which is recorded.
      stdio: ['ignore', process.stderr, 'inherit'],
    })
  }
  buildService(directory)
}
