import type postgres from '#postgres'
import type { Ground } from './ground.ts'
import type { Random } from './random.ts'

/** A transaction of a writer's. */
export type Transaction = postgres.TransactionSql

/** What a change is made with. */
export interface Hand {
  sql: Transaction
  ground: Ground
  random: Random
  /** A text that was never written before: so each change shows. */
  mark: string
  /** How many rows a bulk load brings. */
  bulkRows: number
}

/** One statement, or a few that belong together; tells how many rows it wrote. */
export type Change = (hand: Hand) => Promise<number>

const added = (known: number[], rows: postgres.RowList<postgres.Row[]>) => {
  known.push(...rows.map(row => Number(row.id)))
  return rows.count
}

/** A few ids, in no order: writers that cross come to a deadlock, as writers do. */
const some = ({ random }: Hand, known: readonly number[], most: number) =>
  Array.from({ length: 1 + random.below(most) }, () => random.pick(known) ?? 0)

const one = ({ random }: Hand, known: readonly number[]) => random.pick(known) ?? 0
const owner = ({ random, ground }: Hand) => random.pick(ground.owners) ?? 0

const insertVouchers =
  (most: number): Change =>
  async hand => {
    const count = 1 + hand.random.below(most)
    return added(
      hand.ground.vouchers,
      await hand.sql`
        insert into purchased_voucher (tenant_id, reference, product_title)
        select ${owner(hand)}::bigint, ${hand.mark}::text || '-' || n, ${hand.mark}
        from generate_series(1, ${count}::int) n returning id`,
    )
  }

const updateVouchers =
  (most: number): Change =>
  async hand => {
    const { sql, ground, mark, random } = hand
    return (
      await sql`
        update purchased_voucher set product_title = ${mark}, currency = 'GBP', current_balance = ${random.below(100)}::int
        where id in ${sql(some(hand, ground.vouchers, most))}`
    ).count
  }

const updateVoucherOften: Change = async hand => {
  const id = one(hand, hand.ground.vouchers)
  let count = 0
  for (const time of ['a', 'b', 'c']) {
    count = (await hand.sql`update purchased_voucher set product_title = ${hand.mark + time} where id = ${id}`).count
  }
  return count
}

const ownStamp: Change = async ({ sql, ground, mark, random }) =>
  (
    await sql`
      update purchased_voucher set product_title = ${mark}, updated_at = now() - ${random.below(400)}::int * interval '1 day'
      where id = ${random.pick(ground.vouchers) ?? 0}`
  ).count

const ownStampInserted: Change = async hand =>
  added(
    hand.ground.vouchers,
    await hand.sql`
      insert into purchased_voucher (tenant_id, reference, product_title, updated_at)
      values (${owner(hand)}, ${hand.mark}, ${hand.mark}, '2001-02-03') returning id`,
  )

const insertInVain: Change = async hand =>
  (
    await hand.sql`
      insert into purchased_voucher (id, tenant_id, reference)
      values (${one(hand, hand.ground.vouchers)}, ${owner(hand)}, ${hand.mark}) on conflict do nothing`
  ).count

const upsertVoucher: Change = async hand =>
  (
    await hand.sql`
      insert into purchased_voucher (id, tenant_id, reference)
      values (${one(hand, hand.ground.vouchers)}, ${owner(hand)}, ${hand.mark})
      on conflict (id) do update set product_title = ${hand.mark}`
  ).count

const bulkInsert: Change = async hand =>
  added(
    hand.ground.vouchers,
    await hand.sql`
      insert into purchased_voucher (tenant_id, reference, product_title)
      select ${owner(hand)}::bigint, ${hand.mark}::text || '-' || n, ${hand.mark}
      from generate_series(1, ${hand.bulkRows}::int) n returning id`,
  )

const copyIn: Change = async hand => {
  const line = (n: number) => `${owner(hand)}\t${hand.mark}-${n}\t${hand.mark}\n`
  const into = await hand.sql`copy purchased_voucher (tenant_id, reference, product_title) from stdin`.writable()
  await new Promise<void>((resolve, reject) => {
    into.once('error', reject).once('finish', resolve)
    into.end(Array.from({ length: hand.bulkRows }, (_, n) => line(n)).join(''))
  })
  return hand.bulkRows
}

const insertProduct: Change = async hand => {
  const { sql, ground, mark } = hand
  const rows = await sql`
    insert into product (tenant_id, slug, title, currency) values (${owner(hand)}, ${mark}, ${mark}, 'GBP') returning id`
  const product = Number(rows[0]?.id)
  const variants = await sql`
    insert into variant (product_id, slug, title, currency) values (${product}, ${mark}, ${mark}, 'GBP') returning id`
  return added(ground.products, rows) + added(ground.variants, variants)
}

const simple =
  (statement: (hand: Hand) => postgres.PendingQuery<postgres.Row[]>): Change =>
  async hand =>
    (await statement(hand)).count

const updateProducts = simple(hand => {
  const { sql, ground, mark } = hand
  return sql`update product set title = ${mark} where id in ${sql(some(hand, ground.products, 4))}`
})

const insertVariant: Change = async hand =>
  added(
    hand.ground.variants,
    await hand.sql`
      insert into variant (product_id, slug, title, currency)
      values (${one(hand, hand.ground.products)}, ${hand.mark}, ${hand.mark}, 'GBP') returning id`,
  )

const updateVariants = simple(hand => {
  const { sql, ground, mark } = hand
  return sql`update variant set title = ${mark} where id in ${sql(some(hand, ground.variants, 4))}`
})

const moveVariant = simple(
  hand => hand.sql`
    update variant set product_id = ${one(hand, hand.ground.products)} where id = ${one(hand, hand.ground.variants)}`,
)

const link = simple(
  hand => hand.sql`
    insert into product_category (product_id, category_id)
    select product.id, category.id from product join category using (tenant_id)
    where product.id = ${one(hand, hand.ground.products)}
    order by md5(category.id || ${hand.mark}) limit 1 on conflict do nothing`,
)

const customerIn: Change = async hand =>
  added(
    hand.ground.customers,
    await hand.sql`
      insert into customer (tenant_id, surname, marketing_opted)
      values (${owner(hand)}, ${hand.mark}, ${hand.random.chance(0.7)}) returning id`,
  )

const consentTwice: Change = async hand => {
  const id = one(hand, hand.ground.customers)
  await hand.sql`update customer set marketing_opted = not marketing_opted where id = ${id}`
  return (
    await hand.sql`update customer set marketing_opted = not marketing_opted, surname = ${hand.mark} where id = ${id}`
  ).count
}

const customers = (hand: Hand) => hand.sql(some(hand, hand.ground.customers, 3))

/** What writers do, each as often as its weight says. */
export const changes: [weight: number, change: Change][] = [
  [12, insertVouchers(1)],
  [6, insertVouchers(10)],
  [10, updateVouchers(1)],
  [6, updateVouchers(10)],
  [3, updateVoucherOften],
  [3, ownStamp],
  [2, ownStampInserted],
  [3, insertInVain],
  [2, upsertVoucher],
  [2, simple(hand => hand.sql`delete from purchased_voucher where id = ${one(hand, hand.ground.vouchers)}`)],
  [4, insertProduct],
  [6, updateProducts],
  [3, insertVariant],
  [4, updateVariants],
  [2, moveVariant],
  [2, simple(hand => hand.sql`delete from variant where id = ${one(hand, hand.ground.variants)}`)],
  [
    3,
    simple(hand => hand.sql`update category set title = ${hand.mark} where id = ${one(hand, hand.ground.categories)}`),
  ],
  [3, link],
  [2, simple(hand => hand.sql`delete from product_category where product_id = ${one(hand, hand.ground.products)}`)],
  [1, simple(hand => hand.sql`delete from product where id = ${one(hand, hand.ground.products)}`)],
  [5, customerIn],
  [5, simple(hand => hand.sql`update customer set surname = ${hand.mark} where id in ${customers(hand)}`)],
  [
    6,
    simple(hand => hand.sql`update customer set marketing_opted = not marketing_opted where id in ${customers(hand)}`),
  ],
  [3, consentTwice],
  [1, simple(hand => hand.sql`delete from customer where id = ${one(hand, hand.ground.customers)}`)],
  [
    3,
    simple(
      hand =>
        hand.sql`update tenant set name = ${hand.mark} where id in ${hand.sql(some(hand, hand.ground.tenants, 3))}`,
    ),
  ],
  [
    3,
    async hand =>
      added(
        hand.ground.tenants,
        await hand.sql`insert into tenant (name, parent_id) values (${hand.mark}, ${hand.ground.root}) returning id`,
      ),
  ],
  [1, simple(hand => hand.sql`delete from tenant where id = ${one(hand, hand.ground.tenants)}`)],
]

/** What loaders do. */
export const loads: Change[] = [bulkInsert, copyIn]

const weights = changes.reduce((sum, [weight]) => sum + weight, 0)

/** Draws a change. */
export function drawChange(random: Random): Change {
  let at = random.below(weights)
  for (const [weight, change] of changes) {
    if (at < weight) return change
    at -= weight
  }
  return insertVouchers(1)
}
