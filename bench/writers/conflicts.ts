/** Writers who meet at the same rows: how many of their transactions commit, and how many end in a deadlock. */
import type { Pool, Sql } from '../src/db/connect.ts'

/** What the writers of one kind did. */
export interface Tally {
  kind: string
  commits: number
  deadlocks: number
}

/** The SQLSTATE deadlock_detected. */
const deadlock = '40P01'

/** One kind of writers: a connection each, and the transaction that they repeat. */
interface Kind {
  kind: string
  connections: Pool[]
  transaction: (sql: Sql, turn: number) => Promise<unknown>
}

async function contend(kinds: Kind[], seconds: number): Promise<Tally[]> {
  const end = performance.now() + seconds * 1000
  const write = async (connection: Pool, { transaction }: Kind, tally: Tally) => {
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
    kinds.map(async kind => {
      const tally = { kind: kind.kind, commits: 0, deadlocks: 0 }
      await Promise.all(kind.connections.map(connection => write(connection, kind, tally)))
      return tally
    }),
  )
}

/**
 * Four writers put tenants below one, in transactions of two statements, while a fifth changes the name of that one.
 *
 * @param connections five, to a database without tenants
 * @param options.changing whether the second statement changes the tenant above, else it inserts another tenant below
 * @param options.seconds for how long transactions are begun
 */
export async function putTenantsBelow(
  [first, ...rest]: [Pool, ...Pool[]],
  options: { changing: boolean; seconds: number },
): Promise<Tally[]> {
  await first`insert into tenant (id, name) values (1000000, 'Parent')`
  const insert = (sql: Sql) => sql`insert into tenant (parent_id, name) values (1000000, 'Child')`
  const rename = (sql: Sql, turn: number) => sql`update tenant set name = ${`Parent ${turn}`} where id = 1000000`
  return contend(
    [
      {
        kind: options.changing ? 'inserts a tenant below, changes that above' : 'inserts two tenants below',
        connections: rest,
        transaction: async (sql, turn) => {
          await insert(sql)
          await (options.changing ? rename(sql, turn) : insert(sql))
        },
      },
      { kind: 'changes that above', connections: [first], transaction: rename },
    ],
    options.seconds,
  )
}

/** How many products the category has. */
const products = 50

/**
 * Four editors update two products of a category in each transaction, while a fifth writer renames the category.
 *
 * @param connections five, to a database without tenants
 * @param options.ordered whether editors take the products in the order of their ids, else in random order
 * @param options.renamed whether the category is renamed
 * @param options.seconds for how long transactions are begun
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
  const editors: Kind = {
    kind: `edits two products ${options.ordered ? 'in the order of their ids' : 'in random order'}`,
    connections: rest,
    transaction: async (sql, turn) => {
      const pair = [randomProduct(), randomProduct()]
      if (options.ordered) pair.sort((a, b) => a - b)
      for (const id of pair) await sql`update product set title = ${`A product ${turn}`} where id = ${id}`
    },
  }
  const renamer: Kind = {
    kind: 'renames the category',
    connections: [first],
    transaction: (sql, turn) => sql`update category set title = ${`Gifts ${turn}`} where id = 1`,
  }
  return contend(options.renamed ? [editors, renamer] : [editors], options.seconds)
}
