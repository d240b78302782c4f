/** Writers of the same rows: how many of their transactions commit, and how many end in a deadlock. */
import type { Pool, Sql } from '../../src/db/sql.ts'

/** The outcome of one group of writers. */
export interface Tally {
  group: string
  commits: number
  deadlocks: number
}

/** The SQLSTATE deadlock_detected. */
const deadlock = '40P01'

/** Writers that repeat the same transaction, on a connection each. */
interface WriterGroup {
  group: string
  connections: Pool[]
  transaction: (sql: Sql, turn: number) => Promise<unknown>
}

async function contend(groups: WriterGroup[], seconds: number): Promise<Tally[]> {
  const end = performance.now() + seconds * 1000
  const write = async (connection: Pool, { transaction }: WriterGroup, tally: Tally) => {
    for (let turn = 0; performance.now() < end; turn++) {
      try {
        await connection.begin(sql => transaction(sql, turn))
        tally.commits++
      } catch (error) {
        if (!(error instanceof Error && 'code' in error && error.code === deadlock)) throw error
        tally.deadlocks++
      }
    }
  }
  return Promise.all(
    groups.map(async writers => {
      const tally = { group: writers.group, commits: 0, deadlocks: 0 }
      await Promise.all(writers.connections.map(connection => write(connection, writers, tally)))
      return tally
    }),
  )
}

/**
 * Four writers insert children of one tenant, in transactions of two statements, while a fifth renames that tenant.
 *
 * @param connections five, to a database without tenants
 * @param options.changing whether the second statement renames the parent; otherwise it inserts another child
 * @param options.seconds how long new transactions begin
 */
export async function insertChildren(
  [first, ...rest]: [Pool, ...Pool[]],
  options: { changing: boolean; seconds: number },
): Promise<Tally[]> {
  await first`insert into tenant (id, name) values (1000000, 'Parent')`
  const insert = (sql: Sql) => sql`insert into tenant (parent_id, name) values (1000000, 'Child')`
  const rename = (sql: Sql, turn: number) => sql`update tenant set name = ${`Parent ${turn}`} where id = 1000000`
  return contend(
    [
      {
        group: options.changing ? 'inserts a child, renames the parent' : 'inserts two children',
        connections: rest,
        transaction: async (sql, turn) => {
          await insert(sql)
          await (options.changing ? rename(sql, turn) : insert(sql))
        },
      },
      { group: 'renames the parent', connections: [first], transaction: rename },
    ],
    options.seconds,
  )
}

/** The number of products of the category. */
const products = 50

/**
 * Four editors update two products of a category in each transaction, while a fifth writer renames the category.
 *
 * @param connections five, to a database without tenants
 * @param options.ordered whether editors take the products in the order of their ids; otherwise in random order
 * @param options.renamed whether the category is renamed
 * @param options.seconds how long new transactions begin
 */
export async function editProducts(
  [first, ...rest]: [Pool, ...Pool[]],
  options: { ordered: boolean; renamed: boolean; seconds: number },
): Promise<Tally[]> {
  await first`insert into tenant (id, name) values (1, 'Shop')`
  await first`insert into category (id, tenant_id, slug, title) values (1, 1, 'gifts', 'Gifts')`
  await first`
    insert into product (id, tenant_id, slug, title, currency)
    select n, 1, 'product-' || n, 'A product', 'GBP' from generate_series(1, ${products}::int) n`
  await first`insert into product_category (product_id, category_id) select id, 1 from product`
  const randomProduct = () => 1 + Math.floor(Math.random() * products)
  const editors: WriterGroup = {
    group: `edits two products ${options.ordered ? 'in the order of their ids' : 'in random order'}`,
    connections: rest,
    transaction: async (sql, turn) => {
      const pair = [randomProduct(), randomProduct()]
      if (options.ordered) pair.sort((a, b) => a - b)
      for (const id of pair) await sql`update product set title = ${`A product ${turn}`} where id = ${id}`
    },
  }
  const renamer: WriterGroup = {
    group: 'renames the category',
    connections: [first],
    transaction: (sql, turn) => sql`update category set title = ${`Gifts ${turn}`} where id = 1`,
  }
  return contend(options.renamed ? [editors, renamer] : [editors], options.seconds)
}
