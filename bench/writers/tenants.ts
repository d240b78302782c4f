import type { Fragment, Pool } from '../../src/db/sql.ts'

/** Shapes of a tree of tenants: SQL for the parent of tenant `n + 1`, from 1 to n. */
export const shapes: { name: string; parent: (sql: Pool) => Fragment }[] = [
  { name: 'children of one', parent: sql => sql`1` },
  {
    name: 'a tree: children of one of the 5,000 before them',
    // A hash, not random(): all contenders get the same tree.
    parent: sql => sql`n - (hashint4(n)::bigint + 2147483648) % least(n, 5000)`,
  },
]

/**
 * Inserts tenants by one statement of a session that has inserted one before. The session's plans for triggers and
 * foreign keys were made while the table was small.
 *
 * @param sql one connection, to a database without tenants
 * @returns seconds
 */
export async function timeTenants(sql: Pool, shape: (typeof shapes)[number], count: number): Promise<number> {
  await sql`insert into tenant (id, name) values (1, 'Top')`
  const start = performance.now()
  await sql`
    insert into tenant (id, parent_id, name)
    select n + 1, ${shape.parent(sql)}, 'Tenant ' || n from generate_series(1, ${count}::int) n`
  return (performance.now() - start) / 1000
}
