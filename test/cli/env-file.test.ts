import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { refusalOf, run, serve } from '../support/process.ts'

const root = join(import.meta.dirname, '../..')
const { url, loader } = await createDatabase()
await loader`insert into tenant (id, name) values (1, 'One')`

function directoryWith(text: string): string {
  const directory = createDirectory()
  writeFileSync(join(directory, '.env'), text)
  return directory
}

test('.env of the working directory configures every command', async () => {
  const cwd = directoryWith(`# the database
export DATABASE_URL="${url}" # quoted

LOG_LEVEL=warn
 RATE_LIMIT_PER_MINUTE = 77
CURSOR_KEY=
UNRELATED='of
another program'`)
  const created = await run(['token', 'create', '--name', 'x', '--tenant', '1', '--json'], {}, { cwd })
  expect(created.code, created.stderr).toBe(0)
  const service = await serve({}, { cwd })
  const response = await service.list(JSON.parse(created.stdout).token)
  expect([response.status, response.headers.get('ratelimit-limit')]).toEqual([200, '77'])
  await service.stop('SIGTERM')
})

test('variables of the environment win, also empty ones', async () => {
  const cwd = directoryWith(`DATABASE_URL=postgres://nobody@127.0.0.1:1/none\nPORT=none\nTRUST_PROXY=none\n`)
  const listed = await run(['token', 'list', '--json'], { DATABASE_URL: url, PORT: '1', TRUST_PROXY: '' }, { cwd })
  expect([listed.code, listed.stderr]).toEqual([0, ''])
})

test('.env.example is a valid .env', async () => {
  const cwd = createDirectory()
  copyFileSync(join(root, '.env.example'), join(cwd, '.env'))
  const listed = await run(['token', 'list', '--json'], { DATABASE_URL: url }, { cwd })
  expect([listed.code, listed.stderr]).toEqual([0, ''])
  const service = await serve({ DATA_DIR: createDirectory(), LOG_LEVEL: 'warn' }, { cwd })
  await service.stop('SIGTERM')
})

test.each([
  ['a line without =', 'PORT=8081\nDATABASE_URL postgres://ann:s3cret@host/shop\n', 'line 2:'],
  ['a last line without =', 'PORT=8081\ns3cret', 'line 2:'],
  ['YAML', 'PORT: 8081\nTOKEN: "s3cret"\n', 'line 1, 2:'],
  ['an invalid name', '2PORT=8081\nMY-PORT=s3cret\nPORT=8081\n', 'line 1, 2:'],
  ['a line after a value with several lines', `A='one\ntwo\nthree'\ns3cret\n`, 'line 4:'],
])('a .env with %s is rejected with the line number, without the text of the line', async (_, text, lines) => {
  const cwd = directoryWith(text)
  const refusal = refusalOf(await run(['serve'], { DATABASE_URL: url }, { cwd }))
  expect(refusal).toContain(`${join(cwd, '.env')}, ${lines} expected NAME=value`)
  expect(refusal).not.toContain('s3cret')
})

test('a .env that cannot be read is rejected', async () => {
  const cwd = createDirectory()
  mkdirSync(join(cwd, '.env'))
  const refusal = refusalOf(await run(['token', 'list'], { DATABASE_URL: url }, { cwd }))
  expect(refusal).toContain(`${join(cwd, '.env')} cannot be read: EISDIR`)
})
