/** The changes that writers make in the plain tables. */
import { setTimeout as pause } from 'node:timers/promises'
import type postgres from '#postgres'
import { createMark } from './mark.ts'
import type { Random } from './random.ts'
import type { KnownIds } from './seed.ts'
import type { Transaction, Work } from './writers.ts'

interface ChangeContext {
  sql: Transaction
  knownIds: KnownIds
  random: Random
  mark: string
  bulkRows: number
  /** True when foreign keys are checked. */
  checked: boolean
}

/** A change: one statement, or a few statements that belong together. @returns the number of rows that were written */
type Change = (context: ChangeContext) => Promise<number>

/** The lists of ids that a change may use or extend. */
type Known = 'vouchers' | 'products' | 'variants' | 'categories' | 'customers' | 'tenants' | 'shops'
type Statement = (context: ChangeContext) => postgres.PendingQuery<postgres.Row[]>

/** Returns a change of one statement that inserts no rows. */
const toChange =
  (statement: Statement): Change =>
  async context =>
    (await statement(context)).count

/** Returns a change of one statement that inserts rows. Other writers then use the ids of these rows. */
const toInsert =
  (known: Known, statement: Statement): Change =>
  async context => {
    const rows = await statement(context)
    context.knownIds[known].push(...rows.map(row => Number(row.id)))
    return rows.count
  }

/** Returns a few ids in random order, so that concurrent writers can deadlock, as in production. */
const randomIds = ({ random, knownIds, sql }: ChangeContext, known: Known, most: number) =>
  sql(Array.from({ length: 1 + random.below(most) }, () => random.pick(knownIds[known]) ?? 0))

const randomId = ({ random, knownIds }: ChangeContext, known: Known) => random.pick(knownIds[known]) ?? 0

/**
 * Returns a tenant for new records, mostly one whose lists clients read. Without foreign keys, it is never a tenant
 * that another writer may delete.
 */
const owner = ({ random, knownIds, checked }: ChangeContext) =>
  random.pick(random.chance(0.8) || knownIds.shops.length === 0 || !checked ? knownIds.owners : knownIds.shops) ?? 0

/** Removes an id from the known ids, so that no other writer uses it, and returns the id. */
const take = <Item>({ random }: ChangeContext, known: Item[]): Item | undefined =>
  known.splice(random.below(known.length), 1)[0]

const vouchersFor = (context: ChangeContext, tenant: number, count: number) => context.sql`
  insert into purchased_voucher (tenant_id, reference, product_title)
  select ${tenant}::bigint, ${context.mark}::text || '-' || n, ${context.mark} from generate_series(1, ${count}::int) n
  returning id`

const insertVouchers = (most: number) =>
  toInsert('vouchers', context => vouchersFor(context, owner(context), 1 + context.random.below(most)))

const updateVouchers = (most: number) =>
  toChange(
    context => context.sql`
      update purchased_voucher set product_title = ${context.mark}, currency = 'GBP',
        current_balance = ${context.random.below(100)}::int
      where id in ${randomIds(context, 'vouchers', most)}`,
  )

const retitle = (table: string, title: string, known: Known, most: number) =>
  toChange(
    context => context.sql`
      update ${context.sql(table)} set ${context.sql(title)} = ${context.mark} where id in ${randomIds(context, known, most)}`,
  )

const deleteOne = (table: string, known: Known, column = 'id') =>
  toChange(
    context =>
      context.sql`delete from ${context.sql(table)} where ${context.sql(column)} = ${randomId(context, known)}`,
  )

const upsertVoucher = toChange(
  context => context.sql`
    insert into purchased_voucher (id, tenant_id, reference)
    values (${randomId(context, 'vouchers')}, ${owner(context)}, ${context.mark})
    on conflict (id) do update set product_title = ${context.mark}`,
)

/** Truncates the table of variants, which products show, and inserts a part of them again. */
const truncateVariants: Change = async context => {
  const { sql, mark, knownIds } = context
  await sql`truncate variant`
  const made = await sql`
    insert into variant (product_id, slug, title, currency)
    select id, ${mark}, ${mark}, 'GBP' from product where id % 3 = ${context.random.below(3)} returning id`
  knownIds.variants = made.map(({ id }) => Number(id))
  return made.count
}

const bulkInsert = toInsert('vouchers', context => vouchersFor(context, owner(context), context.bulkRows))

const variantOf = (product: (context: ChangeContext) => number) =>
  toInsert(
    'variants',
    context => context.sql`
      insert into variant (product_id, slug, title, currency)
      values (${product(context)}, ${context.mark}, ${context.mark}, 'GBP') returning id`,
  )

const insertProduct: Change = async context => {
  const insert = toInsert(
    'products',
    ({ sql, mark }) => sql`
      insert into product (tenant_id, slug, title, currency) values (${owner(context)}, ${mark}, ${mark}, 'GBP') returning id`,
  )
  return (await insert(context)) + (await variantOf(({ knownIds }) => knownIds.products.at(-1) ?? 0)(context))
}

const moveVariant = toChange(
  context => context.sql`
    update variant set product_id = ${randomId(context, 'products')} where id = ${randomId(context, 'variants')}`,
)

const link = toChange(
  context => context.sql`
    insert into product_category (product_id, category_id)
    select product.id, category.id from product join category using (tenant_id)
    where product.id = ${randomId(context, 'products')}
    order by md5(category.id || ${context.mark}) limit 1 on conflict do nothing`,
)

const customerIn = toInsert(
  'customers',
  context => context.sql`
    insert into customer (tenant_id, surname, marketing_opted)
    values (${owner(context)}, ${context.mark}, ${context.random.chance(0.7)}) returning id`,
)

const consent = toChange(
  context => context.sql`
    update customer set marketing_opted = not marketing_opted where id in ${randomIds(context, 'customers', 3)}`,
)

/** Returns the id of a new parent for a tenant, inside or outside the scope of the tokens. */
const pickParent = ({ random, knownIds }: ChangeContext) => {
  const { root, branch, elsewhere, owners, shops, tenants } = knownIds
  // A tenant may become its own ancestor in this way: then no token of a tenant above includes it.
  return random.pick(random.chance(0.2) ? [...shops, ...tenants] : [root, branch, elsewhere, ...owners]) ?? 0
}

/**
 * Inserts a child of a tenant, if there are fewer than `mostTenants`. The row lock replaces the foreign key, which an
 * applier does not check.
 */
const tenantBelow = (context: ChangeContext, parent: number) => context.sql`
  insert into tenant (name, parent_id) select ${context.mark}, id from tenant
  where id = ${parent} and (select count(*) from tenant) < ${context.knownIds.mostTenants}
  for key share returning id`

const insertTenant = toInsert('tenants', context => tenantBelow(context, pickParent(context)))

const deleteTenant = toChange(
  context => context.sql`delete from tenant where id = ${take(context, context.knownIds.tenants) ?? 0}`,
)

const openShop: Change = async context => {
  const [shop] = await tenantBelow(context, pickParent(context))
  if (!shop) return 0
  const id = Number(shop.id)
  const vouchers = await toInsert('vouchers', () => vouchersFor(context, id, 3))(context)
  const people = await toInsert(
    'customers',
    ({ sql, mark }) => sql`
      insert into customer (tenant_id, surname, marketing_opted) values (${id}, ${mark}, true) returning id`,
  )(context)
  context.knownIds.shops.push(id)
  return 1 + vouchers + people
}

const closeShop: Change = async context => {
  const { sql, knownIds } = context
  if (knownIds.shops.length < 3) return 0
  const shop = take(context, knownIds.shops) ?? 0
  const tables = ['purchased_voucher', 'product', 'customer', 'category']
  for (const table of tables) await sql`delete from ${sql(table)} where tenant_id = ${shop}`
  return (await sql`delete from tenant where id = ${shop}`).count
}

const moveTenant = toChange(
  context => context.sql`
    update tenant set name = ${context.mark}, parent_id = coalesce(
      (select above.id from tenant above
       where above.id = ${pickParent(context)} and above.id <> tenant.id for key share), parent_id)
    where id = ${randomId(context, context.random.chance(0.5) ? 'shops' : 'tenants')}`,
)

const moveRecords = (table: string, title: string, known: Known, most: number) =>
  toChange(
    context => context.sql`
      update ${context.sql(table)} set tenant_id = ${owner(context)}, ${context.sql(title)} = ${context.mark}
      where id in ${randomIds(context, known, most)}`,
  )

/**
 * Moves a product to another tenant. Sometimes its links to categories of the former tenant stay, but the product no
 * longer shows these categories.
 */
const moveProduct: Change = async context => {
  const { sql, mark, random } = context
  const id = randomId(context, 'products')
  if (random.chance(0.7)) await sql`delete from product_category where product_id = ${id}`
  return (await sql`update product set tenant_id = ${owner(context)}, title = ${mark} where id = ${id}`).count
}

const changeId = (table: string, title: string, known: Known) =>
  toInsert(
    known,
    context => context.sql`
      update ${context.sql(table)}
      set id = nextval(pg_get_serial_sequence(${table}, 'id')), ${context.sql(title)} = ${context.mark}
      where id = ${randomId(context, known)} returning id`,
  )

/** Returns a change that deletes a record and inserts one with the same id, perhaps for another tenant. */
const remake =
  (table: string, known: Known, columnsOf: (mark: string) => Record<string, string | boolean>): Change =>
  async context => {
    const { sql, mark } = context
    const id = randomId(context, known)
    if (id === 0) return 0
    await sql`delete from ${sql(table)} where id = ${id}`
    const above = table === 'tenant' ? { parent_id: context.knownIds.root } : { tenant_id: owner(context) }
    const row = { id, ...above, ...columnsOf(mark) }
    return (await sql`insert into ${sql(table)} ${sql(row)} on conflict (id) do nothing`).count
  }

/**
 * A change and its relative frequency. A `checked` change relies on foreign keys, which appliers do not check: an
 * applier could delete a tenant that has tenants below it.
 */
type Weighted = [weight: number, change: Change, checked?: 'checked']

const changes: Weighted[] = [
  [12, insertVouchers(1)],
  [6, insertVouchers(10)],
  [10, updateVouchers(1)],
  [6, updateVouchers(10)],
  [2, upsertVoucher],
  [2, deleteOne('purchased_voucher', 'vouchers')],
  [4, insertProduct],
  [6, retitle('product', 'title', 'products', 4)],
  [3, variantOf(context => randomId(context, 'products'))],
  [4, retitle('variant', 'title', 'variants', 4)],
  [2, moveVariant],
  [2, deleteOne('variant', 'variants')],
  [3, retitle('category', 'title', 'categories', 1)],
  [3, link],
  [2, deleteOne('product_category', 'products', 'product_id')],
  [1, deleteOne('product', 'products')],
  [5, customerIn],
  [5, retitle('customer', 'surname', 'customers', 3)],
  [6, consent],
  [1, deleteOne('customer', 'customers')],
  [3, retitle('tenant', 'name', 'tenants', 3)],
  [3, insertTenant],
  [1, deleteTenant, 'checked'],
  // These changes remove records from lists, and add them again.
  [20, moveRecords('purchased_voucher', 'product_title', 'vouchers', 4)],
  [4, moveProduct],
  [4, moveRecords('customer', 'surname', 'customers', 3)],
  [4, moveTenant],
  [3, changeId('purchased_voucher', 'product_title', 'vouchers'), 'checked'],
  [1, changeId('product', 'title', 'products'), 'checked'],
  [1, changeId('customer', 'surname', 'customers'), 'checked'],
  [1, changeId('tenant', 'name', 'tenants'), 'checked'],
  [4, remake('purchased_voucher', 'vouchers', mark => ({ reference: mark, product_title: mark }))],
  [1, remake('product', 'products', mark => ({ slug: mark, title: mark, currency: 'GBP' }))],
  [2, remake('customer', 'customers', mark => ({ surname: mark, marketing_opted: true }))],
  [1, remake('tenant', 'tenants', mark => ({ name: mark })), 'checked'],
  [1, openShop],
  [1, closeShop, 'checked'],
]

const loads: Change[] = [bulkInsert, truncateVariants]

/** The tables whose records leave a list and return, with the column that shows the last change. */
const returning = {
  purchased_voucher: ['product_title', 'vouchers'],
  product: ['title', 'products'],
  customer: ['surname', 'customers'],
} as const

/** Makes a record leave a list and return in a later transaction, after a short or no pause. */
async function leaveAndReturn(sql: postgres.Sql, knownIds: KnownIds, random: Random) {
  const wait = () => pause(random.chance(0.5) ? 0 : random.below(60))
  const what = random.pick(['purchased_voucher', 'product', 'customer', 'consent', 'tenant'] as const) ?? 'consent'
  if (what === 'tenant') {
    const id = random.pick(random.chance(0.5) ? knownIds.shops : knownIds.tenants) ?? 0
    await sql`update tenant set parent_id = ${knownIds.elsewhere} where id = ${id}`
    await wait()
    await sql`update tenant set parent_id = ${random.pick([knownIds.root, knownIds.branch]) ?? 0} where id = ${id}`
  } else if (what === 'consent') {
    const id = random.pick(knownIds.customers) ?? 0
    await sql`update customer set marketing_opted = false where id = ${id}`
    await wait()
    await sql`update customer set marketing_opted = true, surname = ${createMark()} where id = ${id}`
  } else {
    const [title, known] = returning[what]
    const id = random.pick(knownIds[known]) ?? 0
    const owners = random.chance(0.5) ? knownIds.owners : knownIds.owners.toReversed()
    for (const owner of [...owners, ...owners]) {
      const mark = createMark()
      await sql`update ${sql(what)} set tenant_id = ${owner}, ${sql(title)} = ${mark} where id = ${id}`
      await wait()
    }
  }
}

/** Returns what writers do. @param bulkRows the number of rows of a bulk load */
export function createWork(knownIds: KnownIds, bulkRows: number): Work {
  const contextOf = (sql: Transaction, random: Random, checked: boolean) => ({
    ...{ sql, knownIds, random, bulkRows, checked },
    mark: createMark(),
  })
  return {
    change: (sql, random, checked) =>
      random.weighted(changes.filter(([, , needs]) => checked || !needs))(contextOf(sql, random, checked)),
    load: (sql, random, checked) => (random.pick(loads) ?? bulkInsert)(contextOf(sql, random, checked)),
    leaveAndReturn: (sql, random) => leaveAndReturn(sql, knownIds, random),
  }
}
