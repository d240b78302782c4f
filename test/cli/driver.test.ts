import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { refusalOf, run } from '../support/process.ts'

const root = join(import.meta.dirname, '../..')
const unpatched = join(root, 'node_modules/postgres/src')
const { url } = await createDatabase()

/** The built service in a directory of its own. */
function install() {
  const directory = createDirectory()
  for (const part of ['dist', 'mappings', 'sql', 'package.json'])
    cpSync(join(root, part), join(directory, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  return {
    directory,
    driver: join(directory, 'dist/postgres'),
    run: (...command: string[]) =>
      run(command, { DATABASE_URL: url, PORT: '0' }, { entry: join(directory, 'dist/main.js') }),
  }
}

type Install = ReturnType<typeof install>

const edit = (file: string, change: (text: string) => string) => writeFileSync(file, change(readFileSync(file, 'utf8')))

test('an installation with the patched driver works', async () => {
  const listed = await install().run('token', 'list', '--json')
  expect([listed.stdout, listed.stderr]).toEqual(['[]\n', ''])
})

test.each<[string, (installed: Install) => void]>([
  ['the driver is the one of the npm package', ({ driver }) => cpSync(unpatched, driver, { recursive: true })],
  [
    'one change of the patch is missing',
    ({ driver }) =>
      edit(join(driver, 'connection.js'), text => text.replace('    rows = 0\n    connectTimer', '    connectTimer')),
  ],
  ['another file is changed', ({ driver }) => edit(join(driver, 'types.js'), text => `${text}\n`)],
  [
    'the postgres package is loaded instead',
    ({ directory }) =>
      edit(join(directory, 'package.json'), text => text.replace('./dist/postgres/index.js', 'postgres')),
  ],
])('a command stops when %s', async (_, change) => {
  const installed = install()
  change(installed)
  const refusal = refusalOf(await installed.run('token', 'list'))
  expect(refusal).toContain('lacks the patch')
  expect(refusal).toContain('npm ci && npm run build')
})
