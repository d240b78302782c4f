import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'

const root = join(import.meta.dirname, '../..')

const source = `/** Runs. */
export async function run(pool: { begin(work: () => void): void; reserve(): void }): Promise<void> {
  pool.begin(() => {})
  pool.reserve()
}
`

/** Lints a file of this content at each path, with the project's configuration. @returns the errors as `path:line` */
async function lint(paths: string[]): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), 'gateway-lint-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  for (const part of ['biome.json', 'tools/doc-comments.grit', 'tools/no-transactions.grit']) {
    cpSync(join(root, part), join(directory, part), { recursive: true })
  }
  for (const path of paths) {
    mkdirSync(dirname(join(directory, path)), { recursive: true })
    writeFileSync(join(directory, path), source)
  }
  const options = ['lint', '--vcs-enabled=false', '--reporter=github', '.']
  const biome = promisify(execFile)(join(root, 'node_modules/.bin/biome'), options, { cwd: directory })
  const { stdout } = await biome.catch((error: { stdout: string }) => error)
  return [...stdout.matchAll(/file=([^,]+),line=(\d+).*No `begin` or `reserve`/g)]
    .map(([, path, line]) => `${path}:${line}`)
    .sort()
}

test('begin and reserve are lint errors in src, outside demo data', async () => {
  const allowed = ['src/demo/load.ts', 'test/db/any.test.ts']
  expect(await lint(['src/rest/any.ts', 'src/db/any.ts', ...allowed])).toEqual([
    'src/db/any.ts:3',
    'src/db/any.ts:4',
    'src/rest/any.ts:3',
    'src/rest/any.ts:4',
  ])
})
