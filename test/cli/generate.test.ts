/** `npm run generate` in a copy of the sources, to which somebody has just added operations. */
import { expect, test } from 'vitest'
import { copySources } from '../support/source-copy.ts'

const { insert, read, runScript, write } = copySources()

test('generates what operations need that routes and the client already use, in one run', async () => {
  const page = 'data: nodes { ...TenantV1 } next_cursor: nextCursor server_time: serverTime'
  const documents = 'src/rest/v1/tenants.graphql'
  write(documents, `${read(documents)}\nquery ListVenues { tenants { ${page} } }\n`)
  const route = "operation('GET', '/venues', documents.ListVenues, nothing, 'A page of venues.')"
  insert('src/rest/v1/routes.ts', 'operations: [', `\n    ${route},`)
  write('packages/client/src/viewer.graphql', 'query CountTenants { tenants { totalCount } }\n')
  write(
    'packages/client/src/viewer.ts',
    "import { CountTenants } from './documents.ts'\nexport const countTenants = CountTenants.id\n",
  )

  const stale = await runScript('generate', '--', '--check')
  expect(stale.code).toBe(1)
  expect(stale.printed).toContain('src/rest/v1/operations.ts is not up to date: run npm run generate\n')
  expect(stale.printed).not.toContain('Error')

  expect(await runScript('generate')).toEqual({ code: 0, printed: '' })
  expect(read('src/rest/v1/operations.ts')).toContain("('ListVenues')")
  expect(read('packages/client/src/documents.ts')).toContain('export const CountTenants')
  expect(read('packages/client/src/reads.ts')).toContain('venues(options: ')
  expect(JSON.parse(read('schema/openapi.v1.json')).paths).toHaveProperty(['/v1/venues', 'get'])
  expect(await runScript('generate', '--', '--check')).toEqual({ code: 0, printed: '' })
})
