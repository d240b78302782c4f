/** `npm run generate` in a copy of the sources, to which somebody has just added operations. */
import { execFile } from 'node:child_process'
import { appendFileSync, cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const checkout = join(import.meta.dirname, '../..')
const copy = mkdtempSync(join(tmpdir(), 'gateway-generate-'))
afterAll(() => rmSync(copy, { recursive: true, force: true }))
const tools = ['build', 'driver', 'openapi', 'package.json'].map(name => `tools/${name}`)
for (const path of ['codegen.ts', 'package.json', 'tsconfig.json', ...tools, 'packages', 'schema', 'src', 'sql']) {
  cpSync(join(checkout, path), join(copy, path), { recursive: true })
}
symlinkSync(join(checkout, 'node_modules'), join(copy, 'node_modules'))

const read = (path: string) => readFileSync(join(copy, path), 'utf8')

/** Runs a script of package.json in the copy. */
function runScript(...args: string[]): Promise<{ code: number; printed: string }> {
  return new Promise(resolve => {
    execFile('npm', ['run', '-s', ...args], { cwd: copy }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, printed: stdout + stderr })
    })
  })
}

test('generates what operations need that routes and the client already use, in one run', async () => {
  const page = 'data: nodes { ...TenantV1 } next_cursor: nextCursor server_time: serverTime'
  appendFileSync(join(copy, 'src/rest/v1/tenants.graphql'), `\nquery ListVenues { tenants { ${page} } }\n`)
  const table = 'src/rest/v1/routes.ts'
  const route = "operation('GET', '/venues', documents.ListVenues, nothing, 'A page of venues.')"
  writeFileSync(join(copy, table), read(table).replace('operations: [', `operations: [\n    ${route},`))
  appendFileSync(join(copy, 'packages/client/src/count.graphql'), '\nquery CountTenants { tenants { totalCount } }\n')
  appendFileSync(
    join(copy, 'packages/client/src/count.ts'),
    "import { CountTenants } from './documents.ts'\nexport const countTenants = CountTenants.id\n",
  )

  const stale = await runScript('generate', '--', '--check')
  expect(stale.code).toBe(1)
  expect(stale.printed).toContain('src/rest/v1/operations.ts is not up to date: run npm run generate\n')
  expect(stale.printed).not.toContain('Error')

  expect(await runScript('generate')).toEqual({ code: 0, printed: '' })
  expect(read('src/rest/v1/operations.ts')).toContain("('ListVenues')")
  expect(read('packages/client/src/documents.ts')).toContain('export const CountTenants')
  expect(JSON.parse(read('schema/openapi.v1.json')).paths).toHaveProperty(['/v1/venues', 'get'])
  expect(await runScript('generate', '--', '--check')).toEqual({ code: 0, printed: '' })
})
