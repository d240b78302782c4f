import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { refusalOf, run } from '../support/process.ts'

const root = join(import.meta.dirname, '../..')
const unpatched = join(root, 'node_modules/postgres/src')
const { url } = await createDatabase()

function install() {
  const directory = createDirectory()
  for (const part of ['dist', 'mappings', 'sql', 'package.json'])
    cpSync(join(root, part), join(directory, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  return directory
}

const edit = (file: string, change: (text: string) => string) => writeFileSync(file, change(readFileSync(file, 'utf8')))

test.each<[string, (directory: string) => void]>([
  ['the driver is the one of npm', place => cpSync(unpatched, join(place, 'dist/postgres'), { recursive: true })],
  ['a file of it is changed', place => edit(join(place, 'dist/postgres/types.js'), text => `${text}\n`)],
  [
    'the postgres package is loaded instead',
    place => edit(join(place, 'package.json'), text => text.replace('./dist/postgres/index.js', 'postgres')),
  ],
])('a command stops when %s', async (_, change) => {
  const directory = install()
  change(directory)
  const entry = join(directory, 'dist/main.js')
  const refusal = refusalOf(await run(['token', 'list'], { DATABASE_URL: url, PORT: '0' }, { entry }))
  expect(refusal).toContain('lacks the patch')
  expect(refusal).toContain('npm ci && npm run build')
})
