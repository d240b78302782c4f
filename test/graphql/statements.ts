import type { Pool } from '../../src/db/connect.ts'

/** A statement as it went to the database. */
export interface Statement {
  /** What its leading comment calls it. */
  name: string
  text: string
  parameters: unknown[]
  types: number[]
}

/** @returns what the work sent through the pool */
export async function capture(pool: Pool, work: () => Promise<unknown>): Promise<Statement[]> {
  const statements: Statement[] = []
  pool.options.debug = (_connection, text, parameters, types) => {
    statements.push({ name: /\/\* (\S+) \*\//.exec(text)?.[1] ?? text, text, parameters, types })
  }
  try {
    await work()
  } finally {
    pool.options.debug = false
  }
  return statements
}

/** What is looked up for all who ask at the time: whose token it is, where tenants lie, how far pages may go. */
const shared = /^token\.find$|^tenant\.paths$|^horizon\.read$/

/** The names of the statements that are a query's own. */
export const namesOf = (statements: Statement[]) =>
  statements
    .map(statement => statement.name)
    .filter(name => !shared.test(name))
    .sort()
