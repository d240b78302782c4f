/** The changes that writers make at the platform of venues.tables.sql. */
import { randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type postgres from '#postgres'
import { createMark } from '../sync/mark.ts'
import type { Random } from '../sync/random.ts'
import type { Transaction, Work } from '../sync/writers.ts'

/** The keys of rows that exist or existed. Each writer adds the keys of the rows that it inserts. */
export interface KnownKeys {
  /** Venues that no change moves or deletes. The first two are below `group`, and the others below `group/branch`. */
  owners: string[]
  /** Venues that changes may move below another venue. */
  shops: string[]
  /** Venues without items or cards, which changes may delete. */
  leaves: string[]
  items: string[]
  collections: string[]
  cards: string[]
  orders: Order[]
  customers: string[]
}

interface Order {
  orderNo: string
  placed_at: string
}

interface Context {
  sql: Transaction
  known: KnownKeys
  random: Random
  mark: string
  bulkRows: number
}

type Change = (context: Context) => PromiseLike<{ count: number }>

/** Creates the tables and the first rows. @returns the keys of these rows */
export async function seedVenues(sql: postgres.Sql, tables: string, cards: number): Promise<KnownKeys> {
  await sql.unsafe(`${tables};
    insert into shop.venue (path, name)
    select path, path
    from unnest('{group,elsewhere,group/branch,group/a,group/b,group/branch/c}'::text[]) path
    union all select 'group/branch/shop' || n, 'shop ' || n from generate_series(1, 4) n
    union all select 'group/leaf' || n, 'leaf ' || n from generate_series(1, 6) n;
    insert into shop.item (venue, name, cents)
    select id, 'item ' || n, 1000 + n from shop.venue, generate_series(1, 40) n where path ~ '/[abc]$';
    insert into shop.item (venue, name, cents, part_of) select venue, 'size', 900, id from shop.item where cents % 4 = 0;
    insert into shop.translations select id, 'en', name from shop.item;
    insert into shop.picture select id, n, 'https://example.com/' || n from shop.item, generate_series(1, 2) n;
    insert into shop.collections (venue, name)
    select id, 'collection ' || n from shop.venue, generate_series(1, 8) n where path ~ '/[abc]$';
    insert into shop."Item in Collection"
    select item.id, collections.id from shop.item join shop.collections using (venue) where (cents + collections.id) % 5 = 0;
    insert into shop."Gift Card" ("No", venue, item, code, "valueCents")
    select 'C' || n, venue, id, 'CODE-' || n, 5000
    from generate_series(1, ${cards}) n
    join (select *, row_number() over (order by id) as place, count(*) over () as items from shop.item) item
      on place = 1 + n % items;
    insert into shop.redemption select "No", 1, 100 from shop."Gift Card" where right("No", 1) = '1';
    insert into shop.card_status select "No", '2026-01-01', 'blocked', 'lost' from shop."Gift Card" where right("No", 1) = '2';
    insert into shop.orders select 'O' || n, timestamp '2026-01-01' + n % 300 * interval '1 day' from generate_series(0, ${cards} / 3) n;
    insert into shop.order_line
    select "orderNo", placed_at, line, 'C' || (substr("orderNo", 2)::integer * 3 + line) as card
    from shop.orders, generate_series(1, 3) line where substr("orderNo", 2)::integer * 3 + line <= ${cards};
    insert into shop.countries select 'A' || chr(64 + n), 'country ' || n from generate_series(1, 20) n;
    insert into shop.customer (venue, email, surname)
    select id, n || '@example.com', 'first' from shop.venue, generate_series(1, 100) n where path ~ '/[abc]$';
    insert into shop.consent select id, true, '2026-01-01' from shop.customer;
    insert into shop.address select id, 'home', 'town', 'AA' from shop.customer;
    analyze`)
  const keys = async (query: string) => (await sql.unsafe<{ key: string }[]>(query)).map(({ key }) => key)
  return {
    owners: await keys(`select id as key from shop.venue where path ~ '/[abc]$' order by path`),
    shops: await keys(`select id as key from shop.venue where path ~ 'shop'`),
    leaves: await keys(`select id as key from shop.venue where path ~ 'leaf'`),
    items: await keys('select id as key from shop.item'),
    collections: await keys('select id::text as key from shop.collections'),
    cards: await keys('select "No" as key from shop."Gift Card"'),
    orders: await sql<Order[]>`select "orderNo", placed_at::text from shop.orders`,
    customers: await keys('select id as key from shop.customer'),
  }
}

type KeyList = Exclude<keyof KnownKeys, 'orders'>

const pickKey = ({ known, random }: Context, list: KeyList) => random.pick(known[list]) ?? ''

const pickOwner = (context: Context) => pickKey(context, context.random.chance(0.8) ? 'owners' : 'shops')

/** Returns a few keys in random order, so that concurrent writers can deadlock, as in production. */
const pickKeys = (context: Context, list: KeyList) =>
  context.sql(Array.from({ length: 1 + context.random.below(4) }, () => pickKey(context, list)))

const pickOrder = ({ known, random }: Context) => random.pick(known.orders)!
const pickState = ({ random }: Context) => random.pick(['active', 'blocked'])!
const pickCountry = ({ random }: Context) => random.pick(['AA', 'AB', 'AC', 'AD', 'AE'])!
const pickParent = ({ random }: Context) => random.pick(['group', 'group/branch', 'elsewhere'])!

/** Inserts a row, unless the table has a row with the same key. */
const addRow = ({ sql }: Context, table: string, ...row: (string | number)[]) => sql`
  insert into ${sql(`shop.${table}`)} values ${sql([row])} on conflict do nothing`

/** Changes a few random rows. @param key the column of the table to which the keys of `list` belong */
const changeRows = (
  context: Context,
  table: string,
  row: Record<string, string | number>,
  key: string,
  list: KeyList,
) => {
  const { sql } = context
  return sql`update ${sql(`shop.${table}`)} set ${sql(row)} where ${sql(key)} in ${pickKeys(context, list)}`
}

async function insertCards(context: Context, count: number): Promise<string[]> {
  const { sql, known, mark } = context
  const rows = await sql<{ key: string }[]>`
    insert into shop."Gift Card" ("No", venue, item, code, "valueCents")
    select ${mark}::text || '-' || n, ${pickOwner(context)}, ${pickKey(context, 'items')}, ${mark}::text || '-' || n, 5000
    from generate_series(1, ${count}::integer) n returning "No" as key`
  const keys = rows.map(({ key }) => key)
  known.cards.push(...keys)
  return keys
}

const insertLines = ({ sql }: Context, { orderNo, placed_at }: Order, cards: string[]) => sql`
  insert into shop.order_line ${sql(cards.map((card, line) => ({ orderNo, placed_at, line, card })))}`

const sell: Change = async context => {
  const { sql, known, random, mark } = context
  const order = { orderNo: mark, placed_at: `2026-0${1 + random.below(9)}-03` }
  await sql`insert into shop.orders ${sql({ ...order, paid_at: order.placed_at })}`
  known.orders.push(order)
  return insertLines(context, order, await insertCards(context, 1 + random.below(4)))
}

const moveCard: Change = context => {
  const { sql, random } = context
  const { orderNo, placed_at } = pickOrder(context)
  return sql`
    update shop.order_line set "orderNo" = ${orderNo}, placed_at = ${placed_at}, line = ${100 + random.below(1e9)}
    where card = ${pickKey(context, 'cards')}`
}

/** Changes the day of an order and of its lines, which often moves these rows to another partition. */
const moveOrder: Change = async context => {
  const { sql, known, random } = context
  const { orderNo, placed_at } = pickOrder(context)
  const moved = { orderNo, placed_at: `202${6 + random.below(2)}-0${1 + random.below(9)}-04` }
  const result = await sql`
    update shop.orders set placed_at = ${moved.placed_at} where "orderNo" = ${orderNo} and placed_at = ${placed_at}`
  if (result.count > 0) known.orders.push(moved)
  return result
}

let partitions = 0

/** Attaches a table as a partition of orders, and sells cards in it. */
const attachPartition: Change = async context => {
  const { sql, mark, known } = context
  if (partitions >= 12) return { count: 0 }
  const year = 2030 + ++partitions
  const order = { orderNo: mark, placed_at: `${year}-05-05` }
  await sql.unsafe(`create table shop.orders_${year} (like shop.orders including indexes)`)
  await sql.unsafe(`
    alter table shop.orders attach partition shop.orders_${year} for values from ('${year}-01-01') to ('${year + 1}-01-01')`)
  // The rows are inserted after the attach, because replication does not copy rows that a partition already has.
  await sql`insert into shop.orders ${sql(order)}`
  known.orders.push(order)
  return insertLines(context, order, await insertCards(context, 2))
}

const deleteCard: Change = async context => {
  const card = pickKey(context, 'cards')
  const { sql } = context
  for (const table of ['redemption', 'card_status', 'order_line']) {
    await sql`delete from ${sql(`shop.${table}`)} where card = ${card}`
  }
  return sql`delete from shop."Gift Card" where "No" = ${card}`
}

const insertCustomer: Change = async context => {
  const { sql, mark, known } = context
  const id = randomUUID()
  await sql`insert into shop.customer ${sql({ id, venue: pickOwner(context), surname: mark, email: `${mark}@example.com` })}`
  known.customers.push(id)
  return sql`insert into shop.consent values (${id}, true, clock_timestamp())`
}

const deleteCustomer: Change = async context => {
  const { sql } = context
  const id = pickKey(context, 'customers')
  for (const table of ['consent', 'address']) {
    await sql`delete from ${sql(`shop.${table}`)} where customer = ${id}`
  }
  return sql`delete from shop.customer where id = ${id}`
}

const addConsent = (sql: postgres.ISql, customer: string, given: boolean) =>
  sql`insert into shop.consent values (${customer}, ${given}, clock_timestamp()) on conflict do nothing`

/** Moves a venue and its descendants below the venue at `path`. */
const moveVenue = (sql: postgres.ISql, id: string, path: string) => sql`
  update shop.venue set path = ${path}::text || substr(venue.path, length(regexp_replace(moved.path, '/[^/]*$', '')) + 1)
  from (select path from shop.venue where id = ${id}) moved
  where venue.path = moved.path or venue.path like moved.path || '/%'`

const insertVenue: Change = async context => {
  const { sql, mark, known, random } = context
  const id = randomUUID()
  const parent = random.chance(0.5) ? pickKey(context, 'shops') : pickKey(context, 'leaves')
  const result = await sql`
    insert into shop.venue (id, path, name) select ${id}, path || '/' || ${mark}, ${mark} from shop.venue
    where id = ${parent} and (select count(*) from shop.venue) < 30`
  if (result.count > 0) known.leaves.push(id)
  return result
}

/** Turns a size into an item, or an item into a size of another item. */
const changeKind: Change = context => {
  const { sql } = context
  const item = pickKey(context, 'items')
  return sql`
    update shop.item set part_of = case when part_of is null then nullif(${item}::uuid, id) end
    where id = ${pickKey(context, 'items')}`
}

const insertCollection: Change = async context => {
  const rows = await context.sql<{ key: string }[]>`
    insert into shop.collections (venue, name) values (${pickOwner(context)}, ${context.mark}) returning id::text as key`
  context.known.collections.push(...rows.map(({ key }) => key))
  return rows
}

const deleteCollection: Change = async context => {
  const id = pickKey(context, 'collections')
  await context.sql`delete from shop."Item in Collection" where collection = ${id}`
  return context.sql`delete from shop.collections where id = ${id}`
}

/** A change and its relative frequency. A `checked` change needs foreign keys that reject wrong rows. */
type WeightedChange = [weight: number, change: Change, checked?: 'checked']

const changes: WeightedChange[] = [
  [12, sell],
  [10, c => addRow(c, 'redemption', pickKey(c, 'cards'), c.random.below(1e9), c.random.below(9))],
  [2, c => c.sql`delete from shop.redemption where card in ${pickKeys(c, 'cards')}`],
  [3, c => c.sql`update shop.redemption set card = ${pickKey(c, 'cards')} where card = ${pickKey(c, 'cards')}`],
  [8, c => changeRows(c, 'Gift Card', { valueCents: 5000 + c.random.below(99) }, 'No', 'cards')],
  [8, c => c.sql`update shop."Gift Card" set venue = ${pickOwner(c)} where "No" in ${pickKeys(c, 'cards')}`],
  [4, c => c.sql`update shop."Gift Card" set item = ${pickKey(c, 'items')} where "No" in ${pickKeys(c, 'cards')}`],
  [5, c => c.sql`update shop."Gift Card" set deleted_at = now() where "No" in ${pickKeys(c, 'cards')}`],
  [5, c => c.sql`update shop."Gift Card" set deleted_at = null where "No" in ${pickKeys(c, 'cards')}`],
  [5, c => addRow(c, 'card_status', pickKey(c, 'cards'), new Date().toISOString(), pickState(c), c.mark)],
  [2, c => c.sql`delete from shop.card_status where card in ${pickKeys(c, 'cards')}`],
  [2, deleteCard],
  [6, moveCard],
  [3, moveOrder],
  [3, c => c.sql`update shop.orders set paid_at = now() where "orderNo" = ${pickOrder(c).orderNo}`],
  [2, attachPartition, 'checked'],
  [6, c => c.sql`update shop.item set name = ${c.mark} where id in ${pickKeys(c, 'items')}`],
  [2, c => c.sql`update shop.item set active = not active where id in ${pickKeys(c, 'items')}`],
  [2, c => c.sql`update shop.item set venue = ${pickOwner(c)} where id = ${pickKey(c, 'items')}`],
  [2, changeKind],
  [2, c => addRow(c, 'translations', pickKey(c, 'items'), 'en', c.mark)],
  [2, c => changeRows(c, 'translations', { summary: c.mark }, 'item', 'items')],
  [1, c => c.sql`delete from shop.translations where item in ${pickKeys(c, 'items')}`],
  [3, c => addRow(c, 'picture', pickKey(c, 'items'), c.random.below(4), `https://example.com/${c.mark}`)],
  [1, c => c.sql`delete from shop.picture where item in ${pickKeys(c, 'items')}`],
  [3, c => addRow(c, 'Item in Collection', pickKey(c, 'items'), pickKey(c, 'collections'))],
  [2, c => c.sql`delete from shop."Item in Collection" where item in ${pickKeys(c, 'items')}`],
  [3, c => c.sql`update shop.collections set name = ${c.mark} where id = ${pickKey(c, 'collections')}`],
  [1, insertCollection],
  [1, deleteCollection, 'checked'],
  [4, insertCustomer],
  [1, deleteCustomer],
  [6, c => addConsent(c.sql, pickKey(c, 'customers'), c.random.chance(0.6))],
  [2, c => c.sql`delete from shop.consent where customer = ${pickKey(c, 'customers')}`],
  [4, c => c.sql`update shop.customer set surname = ${c.mark} where id in ${pickKeys(c, 'customers')}`],
  [3, c => c.sql`update shop.customer set venue = ${pickOwner(c)} where id in ${pickKeys(c, 'customers')}`],
  [3, c => changeRows(c, 'address', { town: c.mark, country: pickCountry(c) }, 'customer', 'customers')],
  [3, c => c.sql`update shop.countries set name = ${c.mark} where code = ${pickCountry(c)}`],
  [3, c => c.sql`update shop.venue set name = ${c.mark} where id in ${pickKeys(c, 'leaves')}`],
  [2, c => moveVenue(c.sql, pickKey(c, 'shops'), pickParent(c))],
  [2, c => moveVenue(c.sql, pickKey(c, 'leaves'), pickParent(c))],
  [1, c => changeRows(c, 'venue', { zone: c.random.pick(['Asia/Tokyo', 'Europe/Berlin'])! }, 'id', 'shops')],
  [2, insertVenue],
  [1, c => c.sql`delete from shop.venue where id = ${pickKey(c, 'leaves')}`, 'checked'],
]

/** Changes of many rows, or of one row on which many records depend. */
const bulkChanges: Change[] = [
  async context => ({ count: (await insertCards(context, context.bulkRows)).length }),
  c => c.sql`update shop.venue set zone = 'Europe/Paris' where id = ${pickKey(c, 'owners')}`,
  c =>
    c.sql`update shop."Gift Card" set "valueCents" = ${6000 + c.random.below(99)} where item = ${pickKey(c, 'items')}`,
  async ({ sql, mark }) => {
    await sql`truncate shop.picture`
    return sql`insert into shop.picture select id, 1, ${`https://example.com/${mark}`} from shop.item where cents % 3 = 0`
  },
]

/** Takes a record out of a list and, after at most 60 ms, brings it back in another transaction. */
async function leaveAndReturn(sql: postgres.Sql, known: KnownKeys, random: Random): Promise<void> {
  const wait = () => pause(random.chance(0.5) ? 0 : random.below(60))
  const pick = (list: KeyList) => random.pick(known[list]) ?? ''
  const [card, customer, venue] = [pick('cards'), pick('customers'), pick('shops')]
  const [away, back] = random.pick([
    [
      () => sql`update shop."Gift Card" set deleted_at = now() where "No" = ${card}`,
      () =>
        sql`update shop."Gift Card" set deleted_at = null, "valueCents" = ${7000 + random.below(99)} where "No" = ${card}`,
    ],
    [
      () => sql`update shop."Gift Card" set venue = ${known.owners[0]!} where "No" = ${card}`,
      () => sql`update shop."Gift Card" set venue = ${known.owners[1]!} where "No" = ${card}`,
    ],
    [() => addConsent(sql, customer, false), () => addConsent(sql, customer, true)],
    [() => moveVenue(sql, venue, 'elsewhere'), () => moveVenue(sql, venue, 'group/branch')],
  ] as const)!
  await away()
  await wait()
  await back()
}

/** Returns the changes that writers make. @param bulkRows the number of rows of a bulk load */
export function createVenuesWork(known: KnownKeys, bulkRows: number) {
  const contextOf = (sql: Transaction, random: Random) => ({ sql, known, random, bulkRows, mark: createMark() })
  const work: Work = {
    change: async (sql, random, checked) =>
      (await random.weighted(changes.filter(([, , needs]) => checked || !needs))(contextOf(sql, random))).count,
    load: async (sql, random) => (await random.pick(bulkChanges)!(contextOf(sql, random))).count,
    leaveAndReturn: (sql, random) => leaveAndReturn(sql, known, random),
  }
  return {
    ...work,
    /** Makes each kind of change five times, one per transaction, because a short run may have missed some kinds. */
    async changeAll(sql: postgres.Sql, random: Random): Promise<void> {
      for (const [, change] of changes.flatMap(one => Array.from({ length: 5 }, () => one))) {
        await sql
          .begin(async transaction => void (await change(contextOf(transaction, random))))
          .catch(error => {
            // A constraint failed: another row has this key, or refers to the deleted row.
            if (!/^23/.test(error.code)) throw error
          })
      }
    },
  }
}
