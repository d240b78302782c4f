/** Copies the sources, so that a test can change files. */
import { execFile } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { createDirectory } from './directory.ts'

const checkout = join(import.meta.dirname, '../..')

/** The files that `npm run generate` and the build read. */
const sources = `.env.example codegen.ts package.json tsconfig.json tsconfig.build.json LICENSE CHANGELOG.md
  deploy docs mappings packages schema sql src tools`.split(/\s+/)

/** Copies the sources, with the installed packages of the checkout. The copy is removed after the tests of the file. */
export function copySources() {
  const root = createDirectory()
  const isSource = (path: string) => !['dist', 'node_modules'].includes(basename(path))
  for (const path of sources) {
    cpSync(join(checkout, path), join(root, path), { recursive: true, filter: isSource })
  }
  for (const path of ['node_modules', 'tools/node_modules']) symlinkSync(join(checkout, path), join(root, path))

  const read = (path: string) => readFileSync(join(root, path), 'utf8')
  const write = (path: string, text: string) => writeFileSync(join(root, path), text)
  return {
    root,
    read,
    write,
    insert(path: string, after: string, text: string) {
      if (!read(path).includes(after)) throw new Error(`${path} has no ${after}`)
      write(path, read(path).replace(after, `${after}${text}`))
    },
    runScript: (...args: string[]) =>
      new Promise<{ code: number; printed: string }>(resolve => {
        execFile('npm', ['run', '-s', ...args], { cwd: root }, (error, stdout, stderr) => {
          resolve({ code: error ? Number(error.code) : 0, printed: stdout + stderr })
        })
      }),
  }
}
