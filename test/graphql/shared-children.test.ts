import { expect, test } from 'vitest'
import type { RecordSql } from '../../src/db/sql.ts'
import { childLoader } from '../../src/graphql/children.ts'
import type { Reader } from '../../src/graphql/loaders.ts'
import { createDatabase } from '../support/database.ts'

interface Parent {
  id: number
  tenantId: number
}

const { pool } = await createDatabase()

test('a parent that moved between two requests gives each the children that it may see', async () => {
  const reads: number[][] = []
  const loader = childLoader(async (_sql: RecordSql, parents: readonly Parent[]) => {
    reads.push(parents.map(({ id }) => id))
    return parents.map(({ id, tenantId }) => [`child of ${id} at ${tenantId}`])
  })
  // The loader uses nothing else of a request.
  const request = { records: pool, group: pool } satisfies Pick<Reader, 'records' | 'group'>
  const answers = await Promise.all([7, 8].map(tenantId => loader(request).load([{ id: 1, tenantId }])))
  expect(reads).toEqual([[1], [1]])
  expect(answers).toEqual([[['child of 1 at 7']], [['child of 1 at 8']]])
})
