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

/** Defines a platform whose children are texts, and records the parents of each read. */
function defineLoader() {
  const reads: (readonly number[])[] = []
  const platform = childLoader(async (_sql: RecordSql, parents: readonly Parent[]) => {
    reads.push(parents.map(({ id }) => id))
    return parents.map(({ id, tenantId }) => [`child of ${id} at ${tenantId}`])
  })
  // A platform uses nothing else of a request.
  const load = (parents: readonly Parent[]) =>
    platform({ records: pool, group: pool } satisfies Pick<Reader, 'records' | 'group'>).load(parents)
  return { reads, load }
}

test('requests share the read of their children, and get the children of their own parents', async () => {
  const { reads, load } = defineLoader()
  const [one, two, three] = [1, 2, 3].map(id => ({ id, tenantId: 7 }))
  const answers = await Promise.all([load([one!, two!]), load([two!, three!])])
  expect(reads).toEqual([[1, 2, 3]])
  expect(answers).toEqual([
    [['child of 1 at 7'], ['child of 2 at 7']],
    [['child of 2 at 7'], ['child of 3 at 7']],
  ])
  expect(await load([one!, one!])).toEqual([['child of 1 at 7'], ['child of 1 at 7']])
  expect(reads.slice(1)).toEqual([[1]])
})

test('a parent that moved between two requests gives each the children that it may see', async () => {
  const { reads, load } = defineLoader()
  const answers = await Promise.all([7, 8].map(tenantId => load([{ id: 1, tenantId }])))
  expect(reads).toEqual([[1], [1]])
  expect(answers).toEqual([[['child of 1 at 7']], [['child of 1 at 8']]])
})
