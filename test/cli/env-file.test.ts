import { copyFileSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadEnvFile } from '../../src/cli/files/env-file.ts'
import { createDatabase } from '../support/database.ts'
import { createDirectory } from '../support/directory.ts'
import { refusalOf, run, serve } from '../support/process.ts'

const root = join(import.meta.dirname, '../..')
const { url, platform } = await createDatabase()
await platform`insert into tenant (id, name) values (1, 'One')`

function directoryWith(text: string | Buffer): string {
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
PGAPPNAME='of
libpq'`)
  const created = await run(['token', 'create', '--name', 'x', '--tenant', '1', '--json'], {}, { cwd })
  expect(created.code, created.stderr).toBe(0)
  const service = await serve({}, { cwd })
  const response = await service.list(JSON.parse(created.stdout).token)
  expect([response.status, response.headers.get('ratelimit-limit')]).toEqual([200, '77'])
  await service.stop('SIGTERM')
})

test('a variable of the environment overrides .env, even when it is empty', async () => {
  const cwd = directoryWith(`DATABASE_URL=postgres://nobody@127.0.0.1:1/none\nPORT=none\nTRUST_PROXY=none\n`)
  const listed = await run(['token', 'list', '--json'], { DATABASE_URL: url, PORT: '1', TRUST_PROXY: '' }, { cwd })
  expect([listed.code, listed.stderr]).toEqual([0, ''])
})

test('.env.example is a valid .env', async () => {
  const cwd = createDirectory()
  copyFileSync(join(root, '.env.example'), join(cwd, '.env'))
  const listed = await run(['token', 'list', '--json'], { DATABASE_URL: url }, { cwd })
  expect([listed.code, listed.stderr]).toEqual([0, ''])
})

/**
 * Loads a .env file with this text in a new directory.
 *
 * @returns the resulting environment, or the directory and the error message
 */
function load(text: string | Buffer) {
  const [former, environment, cwd] = [process.cwd(), { ...process.env }, directoryWith(text)]
  process.chdir(cwd)
  try {
    loadEnvFile()
    return { cwd, loaded: { ...process.env }, message: null }
  } catch (error) {
    return { cwd, loaded: null, message: error instanceof Error ? error.message : String(error) }
  } finally {
    process.chdir(former)
    process.env = environment
  }
}

test.each([
  ['a line without =', 'PORT=8081\nDATABASE_URL postgres://ann:s3cret@host/shop\n', 'line 2:'],
  ['an invalid name', '2PORT=8081\nMY-PORT=s3cret\nPORT=8081\n', 'line 1, 2:'],
  ['a line after a value with several lines', `OIDC_GROUPS='one\ntwo\nthree'\ns3cret\n`, 'line 4:'],
  ['a value that Node would cut at #', 'OIDC_CLIENT_SECRET=s3cret#s3cret\n', 'line 1:'],
  ['a quotation that does not end', `OIDC_CLIENT_SECRET="s3cret\nPORT=8081\n`, 'line 1:'],
  ['text after a quotation', `PORT=8081\nOIDC_CLIENT_SECRET="a"s3cret\n`, 'line 2:'],
  ['an invisible character in a name', 'PORT=8081\n\uFEFFHOST=s3cret\n\u00A0HOST=s3cret\n', 'line 2, 3:'],
])('a .env with %s is rejected with the line number, without the text of the line', (_, text, lines) => {
  const { cwd, message } = load(text)
  expect(message).toContain(`${join(cwd, '.env')}, ${lines} expected NAME=value`)
  expect(message).not.toContain('s3cret')
})

const [le, be] = [Buffer.from('\uFEFFLOG_LEVEL=loud\r\n', 'utf16le'), Buffer.from('\uFEFFLOG_LEVEL=loud\n', 'utf16le')]
test.each([
  ['a byte order mark', '\uFEFFLOG_LEVEL=loud\n'],
  ['UTF-16', le],
  ['UTF-16 in network byte order', be.swap16()],
  ['line ends of Windows', 'PORT=8081\r\nLOG_LEVEL=loud\r\nHOST=x\r\n'],
  ['line ends of old Macs', '# a comment\rLOG_LEVEL=loud\rHOST=x\r'],
])('a .env with %s loses no variable', (_, text) => {
  expect(load(text).loaded?.LOG_LEVEL).toBe('loud')
})

test('a .env is rejected when it sets an unknown name, or sets a name twice', async () => {
  const cwd = directoryWith(
    'RATE_LIMIT=5\nPORT=8081\nMY_SETTING=x\nPORT=8082\nPGSSLMOD=require\nPGSSLMODE=require\nVOUCHER_GATEWAY_URL=x\n',
  )
  const refusal = refusalOf(await run(['serve'], { DATABASE_URL: url }, { cwd }))
  expect(refusal.replaceAll(join(cwd, '.env'), 'file').trim().split('\n')).toEqual([
    'CONFIG_UNKNOWN: file, line 1: RATE_LIMIT is not a variable of this service. Did you mean RATE_LIMIT_PER_MINUTE?',
    'CONFIG_UNKNOWN: file, line 3: MY_SETTING is not a variable of this service. .env.example has the names of all.',
    'ENV_FILE_REPEATED: file, line 4: PORT is set twice. Remove one of the two lines.',
    'CONFIG_UNKNOWN: file, line 5: PGSSLMOD is not a variable of this service. Did you mean PGSSLMODE?',
  ])
})

test('a .env that cannot be read is rejected', async () => {
  const cwd = createDirectory()
  mkdirSync(join(cwd, '.env'))
  const refusal = refusalOf(await run(['token', 'list'], { DATABASE_URL: url }, { cwd }))
  expect(refusal).toContain(`${join(cwd, '.env')} cannot be read: EISDIR`)
  const { message } = load(Buffer.from('OIDC_GROUPS=caf\xe9\n', 'latin1'))
  expect(message).toContain('cannot be read: The encoded data was not valid for encoding utf-8')
})
