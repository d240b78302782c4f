import type postgres from '#postgres'
import type { Random } from './random.ts'
import type { KnownIds } from './seed.ts'

/**
 * The kinds of transactions. Written texts begin with the kind, so that the losses of the control are counted for each.
 */
export const kinds = ['ordinary', 'immediate', 'deferred', 'snapshot', 'moved', 'replicated'] as const
export type Kind = (typeof kinds)[number]

let marks = 0

/** @returns a text that was never written before, so that each change shows */
export const createMark = (kind: Kind) => `${kind}-${++marks}`

/** @returns the kind of writer that wrote a record last; null for one that is as it was at the start */
export const kindOf = (mark: string): Kind | null => kinds.find(kind => mark.startsWith(`${kind}-`)) ?? null

/** A transaction of a writer. */
export type Transaction = postgres.TransactionSql

/** The context that a change needs. */
export interface ChangeContext {
  sql: Transaction
  knownIds: KnownIds
  random: Random
  /** See `createMark`. */
  mark: string
  /** The number of rows that a bulk load inserts. */
  bulkRows: number
}

/** One statement, or a few that belong together. @returns how many rows it wrote */
export type Change = (context: ChangeContext) => Promise<number>

const added = (known: number[], rows: postgres.RowList<postgres.Row[]>) => {
  known.push(...rows.map(row => Number(row.id)))
  return rows.count
}

/** Returns a few ids in random order: concurrent writers can deadlock, as in production. */
const some = ({ random }: ChangeContext, known: readonly number[], most: number) =>
  Array.from({ length: 1 + random.below(most) }, () => random.pick(known) ?? 0)

const one = ({ random }: ChangeContext, known: readonly number[]) => random.pick(known) ?? 0

/** Returns a tenant to write records for, mostly one whose lists are read. */
const owner = ({ random, knownIds }: ChangeContext) =>
  random.pick(random.chance(0.8) || knownIds.shops.length === 0 ? knownIds.owners : knownIds.shops) ?? 0

/** Removes a known id, so that no other writer uses it, and returns it. */
const take = <Item>({ random }: ChangeContext, known: Item[]): Item | undefined =>
  known.splice(random.below(known.length), 1)[0]

const simple =
  (statement: (context: ChangeContext) => postgres.PendingQuery<postgres.Row[]>): Change =>
  async context =>
    (await statement(context)).count

const insertVouchers =
  (most: number): Change =>
  async context => {
    const count = 1 + context.random.below(most)
    return added(
      context.knownIds.vouchers,
      await context.sql`
        insert into purchased_voucher (tenant_id, reference, product_title)
        select ${owner(context)}::bigint, ${context.mark}::text || '-' || n, ${context.mark}
        from generate_series(1, ${count}::int) n returning id`,
    )
  }

const updateVouchers =
  (most: number): Change =>
  async context => {
    const { sql, knownIds, mark, random } = context
    return (
      await sql`
        update purchased_voucher set product_title = ${mark}, currency = 'GBP', current_balance = ${random.below(100)}::int
        where id in ${sql(some(context, knownIds.vouchers, most))}`
    ).count
  }

/** An update that changes no row. */
export const changeNothing = simple(
  context => context.sql`
    update purchased_voucher set reference = reference where id in ${context.sql(some(context, context.knownIds.vouchers, 2))}`,
)

const updateVoucherOften: Change = async context => {
  const id = one(context, context.knownIds.vouchers)
  let count = 0
  for (const time of ['a', 'b', 'c']) {
    count = (await context.sql`update purchased_voucher set product_title = ${context.mark + time} where id = ${id}`)
      .count
  }
  return count
}

const ownStamp: Change = async ({ sql, knownIds, mark, random }) =>
  (
    await sql`
      update purchased_voucher set product_title = ${mark}, updated_at = now() - ${random.below(400)}::int * interval '1 day'
      where id = ${random.pick(knownIds.vouchers) ?? 0}`
  ).count

const ownStampInserted: Change = async context =>
  added(
    context.knownIds.vouchers,
    await context.sql`
      insert into purchased_voucher (tenant_id, reference, product_title, updated_at)
      values (${owner(context)}, ${context.mark}, ${context.mark}, '2001-02-03') returning id`,
  )

/** Inserts a job of the platform, whose deferred trigger changes a voucher; sometimes after an update without effect. */
const changeByJob: Change = async context => {
  const { sql, knownIds, random } = context
  if (knownIds.isPublisher) return 0
  if (random.chance(0.5)) await changeNothing(context)
  await sql`insert into platform_job values (${one(context, knownIds.vouchers)}, ${createMark('deferred')})`
  return 1
}

const insertConflicting: Change = async context =>
  (
    await context.sql`
      insert into purchased_voucher (id, tenant_id, reference)
      values (${one(context, context.knownIds.vouchers)}, ${owner(context)}, ${context.mark}) on conflict do nothing`
  ).count

const upsertVoucher: Change = async context =>
  (
    await context.sql`
      insert into purchased_voucher (id, tenant_id, reference)
      values (${one(context, context.knownIds.vouchers)}, ${owner(context)}, ${context.mark})
      on conflict (id) do update set product_title = ${context.mark}`
  ).count

const bulkInsert: Change = async context =>
  added(
    context.knownIds.vouchers,
    await context.sql`
      insert into purchased_voucher (tenant_id, reference, product_title)
      select ${owner(context)}::bigint, ${context.mark}::text || '-' || n, ${context.mark}
      from generate_series(1, ${context.bulkRows}::int) n returning id`,
  )

const copyIn: Change = async context => {
  // For tenants that are never deleted: the driver does not report errors of a copy.
  const line = (n: number) => `${one(context, context.knownIds.owners)}\t${context.mark}-${n}\t${context.mark}\n`
  const into = await context.sql`copy purchased_voucher (tenant_id, reference, product_title) from stdin`.writable()
  await new Promise<void>((resolve, reject) => {
    into.once('error', reject).once('finish', resolve)
    into.end(Array.from({ length: context.bulkRows }, (_, n) => line(n)).join(''))
  })
  return context.bulkRows
}

const insertProduct: Change = async context => {
  const { sql, knownIds, mark } = context
  const rows = await sql`
    insert into product (tenant_id, slug, title, currency) values (${owner(context)}, ${mark}, ${mark}, 'GBP') returning id`
  const product = Number(rows[0]?.id)
  const variants = await sql`
    insert into variant (product_id, slug, title, currency) values (${product}, ${mark}, ${mark}, 'GBP') returning id`
  return added(knownIds.products, rows) + added(knownIds.variants, variants)
}

const updateProducts = simple(context => {
  const { sql, knownIds, mark } = context
  return sql`update product set title = ${mark} where id in ${sql(some(context, knownIds.products, 4))}`
})

const insertVariant: Change = async context =>
  added(
    context.knownIds.variants,
    await context.sql`
      insert into variant (product_id, slug, title, currency)
      values (${one(context, context.knownIds.products)}, ${context.mark}, ${context.mark}, 'GBP') returning id`,
  )

const updateVariants = simple(context => {
  const { sql, knownIds, mark } = context
  return sql`update variant set title = ${mark} where id in ${sql(some(context, knownIds.variants, 4))}`
})

const moveVariant = simple(
  context => context.sql`
    update variant set product_id = ${one(context, context.knownIds.products)} where id = ${one(context, context.knownIds.variants)}`,
)

const link = simple(
  context => context.sql`
    insert into product_category (product_id, category_id)
    select product.id, category.id from product join category using (tenant_id)
    where product.id = ${one(context, context.knownIds.products)}
    order by md5(category.id || ${context.mark}) limit 1 on conflict do nothing`,
)

const customerIn: Change = async context =>
  added(
    context.knownIds.customers,
    await context.sql`
      insert into customer (tenant_id, surname, marketing_opted)
      values (${owner(context)}, ${context.mark}, ${context.random.chance(0.7)}) returning id`,
  )

const consentTwice: Change = async context => {
  const id = one(context, context.knownIds.customers)
  await context.sql`update customer set marketing_opted = not marketing_opted where id = ${id}`
  return (
    await context.sql`update customer set marketing_opted = not marketing_opted, surname = ${context.mark} where id = ${id}`
  ).count
}

const customers = (context: ChangeContext) => context.sql(some(context, context.knownIds.customers, 3))

/** Returns a tenant as the new parent of another, inside or outside the scope of the tokens. */
const place = (context: ChangeContext) => {
  const { root, branch, elsewhere, owners, shops, tenants, isPublisher } = context.knownIds
  // A publisher has no trigger that rejects a tenant below itself.
  const moving = !isPublisher && context.random.chance(0.2)
  return one(context, moving ? [...shops, ...tenants] : [root, branch, elsewhere, ...owners])
}

/** Inserts a tenant below another, up to `mostTenants`. The lock replaces the foreign key, which an applier does not check. */
const tenantBelow = (context: ChangeContext, parent: number) => context.sql`
  insert into tenant (name, parent_id) select ${context.mark}, id from tenant
  where id = ${parent} and (select count(*) from tenant) < ${context.knownIds.mostTenants}
  for key share returning id`

const insertTenant: Change = async context =>
  added(context.knownIds.tenants, await tenantBelow(context, place(context)))

const deleteTenant = simple(
  context => context.sql`delete from tenant where id = ${take(context, context.knownIds.tenants) ?? 0}`,
)

const insertFamily: Change = async context => {
  const [parent] = await tenantBelow(context, place(context))
  const [child] = parent ? await tenantBelow(context, Number(parent.id)) : []
  if (parent && child) context.knownIds.families.push([Number(parent.id), Number(child.id)])
  return 2
}

const deleteFamily: Change = async context => {
  const [parent = 0, child = 0] = take(context, context.knownIds.families) ?? []
  if (context.random.chance(0.5)) return (await context.sql`delete from tenant where id in (${parent}, ${child})`).count
  const { count } = await context.sql`delete from tenant where id = ${child}`
  return count + (await context.sql`delete from tenant where id = ${parent}`).count
}

const openShop: Change = async context => {
  const { sql, knownIds, mark } = context
  const [shop] = await tenantBelow(context, place(context))
  if (!shop) return 0
  const vouchers = await sql`
    insert into purchased_voucher (tenant_id, reference, product_title)
    select ${shop.id}::bigint, ${mark}::text || '-' || n, ${mark} from generate_series(1, 3) n returning id`
  const people = await sql`
    insert into customer (tenant_id, surname, marketing_opted) values (${shop.id}, ${mark}, true) returning id`
  knownIds.shops.push(Number(shop.id))
  return 1 + added(knownIds.vouchers, vouchers) + added(knownIds.customers, people)
}

const closeShop: Change = async context => {
  const { sql, knownIds } = context
  if (knownIds.shops.length < 3) return 0
  const shop = take(context, knownIds.shops) ?? 0
  const tables = ['purchased_voucher', 'product', 'customer', 'category']
  for (const table of tables) await sql`delete from ${sql(table)} where tenant_id = ${shop}`
  return (await sql`delete from tenant where id = ${shop}`).count
}

/** Deletes a tenant, and makes it again under the same id somewhere else. */
const remakeTenant: Change = async context => {
  const id = one(context, context.knownIds.tenants)
  const { count } = await context.sql`delete from tenant where id = ${id}`
  if (count === 0) return 0
  return (
    await context.sql`
      insert into tenant (id, name, parent_id) values (${id}, ${context.mark}, ${place(context)}) on conflict do nothing`
  ).count
}

const moveTenant = simple(
  context => context.sql`
    update tenant set name = ${context.mark}, parent_id = coalesce(
      (select above.id from tenant above where above.id = ${place(context)} for key share), parent_id)
    where id = ${one(context, context.random.chance(0.5) ? context.knownIds.shops : context.knownIds.tenants)}`,
)

const moveVouchers = simple(
  context => context.sql`
    update purchased_voucher set tenant_id = ${owner(context)}, product_title = ${context.mark}
    where id in ${context.sql(some(context, context.knownIds.vouchers, 4))}`,
)

/** Moves a product to another tenant: rejected at commit while it is linked to a category of the former tenant. */
const moveProduct: Change = async context => {
  const { sql, knownIds, mark, random } = context
  const id = one(context, knownIds.products)
  if (random.chance(0.7)) await sql`delete from product_category where product_id = ${id}`
  return (await sql`update product set tenant_id = ${owner(context)}, title = ${mark} where id = ${id}`).count
}

const moveCustomers = simple(
  context => context.sql`
    update customer set tenant_id = ${owner(context)}, surname = ${context.mark} where id in ${customers(context)}`,
)

/** Gives a record another id. */
const changeId =
  (table: string, title: string, known: (knownIds: KnownIds) => number[]): Change =>
  async context => {
    const { sql, knownIds, mark } = context
    return added(
      known(knownIds),
      await sql`
        update ${sql(table)} set id = nextval(pg_get_serial_sequence(${table}, 'id')), ${sql(title)} = ${mark}
        where id = ${one(context, known(knownIds))} returning id`,
    )
  }

/** Deletes a voucher and inserts one with the same id, perhaps for another tenant. */
const remakeVoucher: Change = async context => {
  const { sql, knownIds, mark } = context
  const id = one(context, knownIds.vouchers)
  await sql`delete from purchased_voucher where id = ${id}`
  return (
    await sql`
      insert into purchased_voucher (id, tenant_id, reference, product_title)
      values (${id}, ${owner(context)}, ${mark}, ${mark}) on conflict do nothing`
  ).count
}

const remakeProduct: Change = async context => {
  const { sql, knownIds, mark } = context
  const id = one(context, knownIds.products)
  await sql`delete from product where id = ${id}`
  return (
    await sql`
      insert into product (id, tenant_id, slug, title, currency) values (${id}, ${owner(context)}, ${mark}, ${mark}, 'GBP')
      on conflict do nothing`
  ).count
}

const remakeCustomer: Change = async context => {
  const { sql, knownIds, mark } = context
  const id = one(context, knownIds.customers)
  await sql`delete from customer where id = ${id}`
  return (
    await sql`
      insert into customer (id, tenant_id, surname, marketing_opted) values (${id}, ${owner(context)}, ${mark}, true)
      on conflict do nothing`
  ).count
}

/**
 * A change and its relative frequency. One that is `checked` relies on foreign keys, which appliers do not check: there a
 * tenant could be deleted that has tenants below it.
 */
type Weighted = [weight: number, change: Change, checked?: 'checked']

/** The changes that remove records from lists, and return them. */
export const moves: Weighted[] = [
  [20, moveVouchers],
  [4, moveProduct],
  [4, moveCustomers],
  [4, moveTenant],
  [3, changeId('purchased_voucher', 'product_title', knownIds => knownIds.vouchers), 'checked'],
  [1, changeId('product', 'title', knownIds => knownIds.products), 'checked'],
  [1, changeId('customer', 'surname', knownIds => knownIds.customers), 'checked'],
  [1, changeId('tenant', 'name', knownIds => knownIds.tenants), 'checked'],
  [4, remakeVoucher],
  [1, remakeProduct],
  [2, remakeCustomer],
  [1, remakeTenant, 'checked'],
  [1, insertFamily],
  [1, deleteFamily, 'checked'],
  [1, openShop],
  [1, closeShop, 'checked'],
]

/** The changes of writers. */
export const changes: Weighted[] = [
  [12, insertVouchers(1)],
  [6, insertVouchers(10)],
  [10, updateVouchers(1)],
  [6, updateVouchers(10)],
  [3, updateVoucherOften],
  [3, ownStamp],
  [2, ownStampInserted],
  [3, insertConflicting],
  [2, upsertVoucher],
  [
    2,
    simple(context => context.sql`delete from purchased_voucher where id = ${one(context, context.knownIds.vouchers)}`),
  ],
  [4, insertProduct],
  [6, updateProducts],
  [3, insertVariant],
  [4, updateVariants],
  [2, moveVariant],
  [2, simple(context => context.sql`delete from variant where id = ${one(context, context.knownIds.variants)}`)],
  [
    3,
    simple(
      context =>
        context.sql`update category set title = ${context.mark} where id = ${one(context, context.knownIds.categories)}`,
    ),
  ],
  [3, link],
  [
    2,
    simple(
      context =>
        context.sql`delete from product_category where product_id = ${one(context, context.knownIds.products)}`,
    ),
  ],
  [1, simple(context => context.sql`delete from product where id = ${one(context, context.knownIds.products)}`)],
  [5, customerIn],
  [5, simple(context => context.sql`update customer set surname = ${context.mark} where id in ${customers(context)}`)],
  [
    6,
    simple(
      context =>
        context.sql`update customer set marketing_opted = not marketing_opted where id in ${customers(context)}`,
    ),
  ],
  [3, consentTwice],
  [1, simple(context => context.sql`delete from customer where id = ${one(context, context.knownIds.customers)}`)],
  [
    3,
    simple(
      context =>
        context.sql`update tenant set name = ${context.mark} where id in ${context.sql(some(context, context.knownIds.tenants, 3))}`,
    ),
  ],
  [3, insertTenant],
  [1, deleteTenant, 'checked'],
  [6, changeByJob],
]

/** The changes of loaders. */
export const loads: Change[] = [bulkInsert, copyIn]

/** Returns a random change by the weights. @param checked whether foreign keys are checked */
export function randomChange(random: Random, from: Weighted[], checked: boolean): Change {
  const possible = from.filter(([, , needs]) => checked || !needs)
  let at = random.below(possible.reduce((sum, [weight]) => sum + weight, 0))
  for (const [weight, change] of possible) {
    if (at < weight) return change
    at -= weight
  }
  return insertVouchers(1)
}
