import type postgres from '#postgres'
import type { Random } from './random.ts'
import type { Ground } from './seed.ts'

/** The kinds of writers. What they write begins with the kind, so that what the control loses is counted for each. */
export const kinds = ['ordinary', 'immediate', 'deferred', 'snapshot', 'moved', 'replicated'] as const
export type Kind = (typeof kinds)[number]

let marks = 0

/** @returns a text that was never written before, so that each change shows */
export const createMark = (kind: Kind) => `${kind}-${++marks}`

/** @returns the kind of writer that wrote a record last; null for one that is as it was at the start */
export const kindOf = (mark: string): Kind | null => kinds.find(kind => mark.startsWith(`${kind}-`)) ?? null

/** A transaction of a writer's. */
export type Transaction = postgres.TransactionSql

/** What a change is made with. */
export interface Hand {
  sql: Transaction
  ground: Ground
  random: Random
  /** See `createMark`. */
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
/** A tenant to write records for: mostly those that lists are read of. */
const owner = ({ random, ground }: Hand) =>
  random.pick(random.chance(0.8) || ground.shops.length === 0 ? ground.owners : ground.shops) ?? 0

/** Takes an id from the known ones, so that others do not write to what is gone. */
const take = <Item>({ random }: Hand, known: Item[]): Item | undefined => known.splice(random.below(known.length), 1)[0]

const simple =
  (statement: (hand: Hand) => postgres.PendingQuery<postgres.Row[]>): Change =>
  async hand =>
    (await statement(hand)).count

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

/** An update that changes no row. */
export const changeNothing = simple(
  hand => hand.sql`
    update purchased_voucher set reference = reference where id in ${hand.sql(some(hand, hand.ground.vouchers, 2))}`,
)

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

/** Leaves a change to the platform's deferred trigger, perhaps after one that changes nothing. */
const changeByJob: Change = async hand => {
  const { sql, ground, random } = hand
  if (ground.isPublisher) return 0
  if (random.chance(0.5)) await changeNothing(hand)
  await sql`insert into platform_job values (${one(hand, ground.vouchers)}, ${createMark('deferred')})`
  return 1
}

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
  // For tenants that are never deleted: the driver does not report that the server refuses what was copied.
  const line = (n: number) => `${one(hand, hand.ground.owners)}\t${hand.mark}-${n}\t${hand.mark}\n`
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

/** Somewhere in the tree, in the grants of a token and out of them. */
const place = (hand: Hand) => {
  const { root, branch, elsewhere, owners, shops, tenants, isPublisher } = hand.ground
  // A publisher does not refuse a tenant below itself.
  const moving = !isPublisher && hand.random.chance(0.2)
  return one(hand, moving ? [...shops, ...tenants] : [root, branch, elsewhere, ...owners])
}

/** A tenant below another, unless there are enough. The lock does what the foreign key does not for a replication. */
const tenantBelow = (hand: Hand, parent: number) => hand.sql`
  insert into tenant (name, parent_id) select ${hand.mark}, id from tenant
  where id = ${parent} and (select count(*) from tenant) < ${hand.ground.mostTenants}
  for key share returning id`

const insertTenant: Change = async hand => added(hand.ground.tenants, await tenantBelow(hand, place(hand)))

const deleteTenant = simple(hand => hand.sql`delete from tenant where id = ${take(hand, hand.ground.tenants) ?? 0}`)

const insertFamily: Change = async hand => {
  const [parent] = await tenantBelow(hand, place(hand))
  const [child] = parent ? await tenantBelow(hand, Number(parent.id)) : []
  if (parent && child) hand.ground.families.push([Number(parent.id), Number(child.id)])
  return 2
}

const deleteFamily: Change = async hand => {
  const [parent = 0, child = 0] = take(hand, hand.ground.families) ?? []
  if (hand.random.chance(0.5)) return (await hand.sql`delete from tenant where id in (${parent}, ${child})`).count
  const { count } = await hand.sql`delete from tenant where id = ${child}`
  return count + (await hand.sql`delete from tenant where id = ${parent}`).count
}

const openShop: Change = async hand => {
  const { sql, ground, mark } = hand
  const [shop] = await tenantBelow(hand, place(hand))
  if (!shop) return 0
  const vouchers = await sql`
    insert into purchased_voucher (tenant_id, reference, product_title)
    select ${shop.id}::bigint, ${mark}::text || '-' || n, ${mark} from generate_series(1, 3) n returning id`
  const people = await sql`
    insert into customer (tenant_id, surname, marketing_opted) values (${shop.id}, ${mark}, true) returning id`
  ground.shops.push(Number(shop.id))
  return 1 + added(ground.vouchers, vouchers) + added(ground.customers, people)
}

const closeShop: Change = async hand => {
  const { sql, ground } = hand
  if (ground.shops.length < 3) return 0
  const shop = take(hand, ground.shops) ?? 0
  const tables = ['purchased_voucher', 'product', 'customer', 'category']
  for (const table of tables) await sql`delete from ${sql(table)} where tenant_id = ${shop}`
  return (await sql`delete from tenant where id = ${shop}`).count
}

/** Deletes a tenant, and makes it again under the same id somewhere else. */
const remakeTenant: Change = async hand => {
  const id = one(hand, hand.ground.tenants)
  const { count } = await hand.sql`delete from tenant where id = ${id}`
  if (count === 0) return 0
  return (
    await hand.sql`
      insert into tenant (id, name, parent_id) values (${id}, ${hand.mark}, ${place(hand)}) on conflict do nothing`
  ).count
}

const moveTenant = simple(
  hand => hand.sql`
    update tenant set name = ${hand.mark}, parent_id = coalesce(
      (select above.id from tenant above where above.id = ${place(hand)} for key share), parent_id)
    where id = ${one(hand, hand.random.chance(0.5) ? hand.ground.shops : hand.ground.tenants)}`,
)

const moveVouchers = simple(
  hand => hand.sql`
    update purchased_voucher set tenant_id = ${owner(hand)}, product_title = ${hand.mark}
    where id in ${hand.sql(some(hand, hand.ground.vouchers, 4))}`,
)

/** Refused at commit while it is in a category of its former tenant, unless it leaves that first. */
const moveProduct: Change = async hand => {
  const { sql, ground, mark, random } = hand
  const id = one(hand, ground.products)
  if (random.chance(0.7)) await sql`delete from product_category where product_id = ${id}`
  return (await sql`update product set tenant_id = ${owner(hand)}, title = ${mark} where id = ${id}`).count
}

const moveCustomers = simple(
  hand => hand.sql`
    update customer set tenant_id = ${owner(hand)}, surname = ${hand.mark} where id in ${customers(hand)}`,
)

/** A record goes on under another id. */
const changeId =
  (table: string, title: string, known: (ground: Ground) => number[]): Change =>
  async hand => {
    const { sql, ground, mark } = hand
    return added(
      known(ground),
      await sql`
        update ${sql(table)} set id = nextval(pg_get_serial_sequence(${table}, 'id')), ${sql(title)} = ${mark}
        where id = ${one(hand, known(ground))} returning id`,
    )
  }

/** The same id again, perhaps for another tenant. */
const remakeVoucher: Change = async hand => {
  const { sql, ground, mark } = hand
  const id = one(hand, ground.vouchers)
  await sql`delete from purchased_voucher where id = ${id}`
  return (
    await sql`
      insert into purchased_voucher (id, tenant_id, reference, product_title)
      values (${id}, ${owner(hand)}, ${mark}, ${mark}) on conflict do nothing`
  ).count
}

const remakeProduct: Change = async hand => {
  const { sql, ground, mark } = hand
  const id = one(hand, ground.products)
  await sql`delete from product where id = ${id}`
  return (
    await sql`
      insert into product (id, tenant_id, slug, title, currency) values (${id}, ${owner(hand)}, ${mark}, ${mark}, 'GBP')
      on conflict do nothing`
  ).count
}

const remakeCustomer: Change = async hand => {
  const { sql, ground, mark } = hand
  const id = one(hand, ground.customers)
  await sql`delete from customer where id = ${id}`
  return (
    await sql`
      insert into customer (id, tenant_id, surname, marketing_opted) values (${id}, ${owner(hand)}, ${mark}, true)
      on conflict do nothing`
  ).count
}

/**
 * A change, as often as its weight says. One that is `checked` relies on foreign keys, which do not hold where a
 * session applies a replication: there a tenant could be deleted from below those that were just made.
 */
type Weighted = [weight: number, change: Change, checked?: 'checked']

/** How records leave lists, and come back. */
export const moves: Weighted[] = [
  [20, moveVouchers],
  [4, moveProduct],
  [4, moveCustomers],
  [4, moveTenant],
  [3, changeId('purchased_voucher', 'product_title', ground => ground.vouchers), 'checked'],
  [1, changeId('product', 'title', ground => ground.products), 'checked'],
  [1, changeId('customer', 'surname', ground => ground.customers), 'checked'],
  [1, changeId('tenant', 'name', ground => ground.tenants), 'checked'],
  [4, remakeVoucher],
  [1, remakeProduct],
  [2, remakeCustomer],
  [1, remakeTenant, 'checked'],
  [1, insertFamily],
  [1, deleteFamily, 'checked'],
  [1, openShop],
  [1, closeShop, 'checked'],
]

/** What writers do. */
export const changes: Weighted[] = [
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
  [3, insertTenant],
  [1, deleteTenant, 'checked'],
  [6, changeByJob],
]

/** What loaders do. */
export const loads: Change[] = [bulkInsert, copyIn]

/** Draws a change. */
export function drawChange(random: Random, from: Weighted[], checked: boolean): Change {
  const possible = from.filter(([, , needs]) => checked || !needs)
  let at = random.below(possible.reduce((sum, [weight]) => sum + weight, 0))
  for (const [weight, change] of possible) {
    if (at < weight) return change
    at -= weight
  }
  return insertVouchers(1)
}
