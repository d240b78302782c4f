import postgres from '#postgres'

/** The address of a database, for connections of the tests. */
export interface Address {
  host: string
  port: number
  user: string
  password?: string
  database: string
}

/** Returns an address in the form for pools of the service, which take a password only in a URL. */
export const poolAddress = ({ password, ...address }: Address) =>
  password === undefined
    ? address
    : `postgres://${address.user}:${password}@${address.host}:${address.port}/${address.database}`

/** Ids that exist or existed, for the writers. Each writer adds the ids of its new rows. */
export interface KnownIds {
  /** The tenant above all others, except tenants that moved below `elsewhere`. */
  root: number
  /** A tenant below the root with other tenants below it. A token includes this part of the tree. */
  branch: number
  /** A tenant that is not below the root. */
  elsewhere: number
  /** Tenants that own records, and are not deleted or moved. */
  owners: number[]
  /** Tenants that own records, and are moved, created and deleted. */
  shops: number[]
  /** Tenants that own no records, and are moved, created and deleted. */
  tenants: number[]
  /** The maximum number of tenants, because a client reads the lists of each tenant in every round. */
  mostTenants: number
  products: number[]
  variants: number[]
  categories: number[]
  vouchers: number[]
  customers: number[]
}

/** The name of a role that may only insert vouchers and tenants. */
export const insertOnlyRole = 'stress_seller'

/** Opens a connection without the settings of the service. */
export const open = (address: Address, options: postgres.Options<Record<string, never>> = {}) =>
  postgres({
    ...address,
    max: 1,
    onnotice: () => {},
    ...options,
    connection: { application_name: 'stress', TimeZone: 'UTC', ...options.connection },
  })

const ids = (rows: postgres.RowList<postgres.Row[]>) => rows.map(row => Number(row.id))

/**
 * Prepares a migrated database: inserts the first rows, and creates a role that may only insert and the stamps of the
 * control, which come from `now()`.
 */
export async function seedDatabase(address: Address, size = 100): Promise<KnownIds> {
  const sql = open(address)
  await sql.unsafe(`
    alter table purchased_voucher add column naive_stamp timestamptz not null default now();
    create function naive_stamp() returns trigger language plpgsql as
      $$ begin new.naive_stamp := now(); return new; end $$;
    create trigger naive_stamp before insert or update on purchased_voucher for each row execute function naive_stamp();
    alter table purchased_voucher enable always trigger naive_stamp;
    do $$ begin
      create role ${insertOnlyRole} login;
    exception when duplicate_object or unique_violation then null;
    end $$;
    grant usage on schema public to ${insertOnlyRole};
    grant insert on purchased_voucher, tenant to ${insertOnlyRole};`)
  const [root = 0] = ids(await sql`insert into tenant (name) values ('root') returning id`)
  const knownIds = await insertRecords(sql, root, size, 30)
  await sql.end()
  return knownIds
}

/**
 * Prepares the database of a publisher, which has only the tables of the platform. All its rows belong to tenants below
 * `root`, which the subscriber also has. Its ids are in another range.
 *
 * @param root the id of the tenant that both databases have
 * @param subscribe called when that tenant is the only row of the publisher
 */
export async function seedPublisher(
  address: Address,
  root: number,
  size: number,
  subscribe: () => Promise<unknown>,
): Promise<KnownIds> {
  const sql = open(address)
  for (const table of ['tenant', 'category', 'product', 'variant', 'purchased_voucher', 'customer']) {
    await sql`alter table ${sql(table)} alter id restart with 1000000000`
  }
  await sql`insert into tenant (id, name) values (${root}, 'root')`
  await subscribe()
  const knownIds = await insertRecords(sql, root, size, 12)
  await sql.end()
  return knownIds
}

/** Inserts the first tenants below `root`, and their rows. */
async function insertRecords(sql: postgres.Sql, root: number, size: number, mostTenants: number): Promise<KnownIds> {
  const [elsewhere = 0] = ids(await sql`insert into tenant (name) values ('elsewhere') returning id`)
  const tenants = async (name: string, count: number, parent = root) =>
    ids(
      await sql`
      insert into tenant (name, parent_id) select ${name} || n, ${parent}::bigint from generate_series(1, ${count}::int) n
      returning id`,
    )
  const owners = await tenants('owner ', 2)
  const [branch = 0] = await tenants('branch ', 1)
  const shops = await tenants('shop ', 4, branch)
  /** Inserts rows for each tenant of `of`. `values` may use `owner`, the tenant, and `n`, the number of the row. */
  const insertFor = async (of: number[], table: string, columns: string, values: string, count = size) =>
    ids(
      await sql.unsafe(`
        insert into ${table} (tenant_id, ${columns}) select owner, ${values}
        from unnest('{${of}}'::bigint[]) owner, generate_series(1, ${count}) n order by owner, n returning id`),
    )
  const products = await insertFor(owners, 'product', 'slug, title, currency', "'p' || n, 'first', 'GBP'")
  const categories = await insertFor(owners, 'category', 'slug, title', "'c' || n, 'first'", 20)
  const sales = ['purchased_voucher', 'reference, product_title', "'first-' || owner || '-' || n, 'first'"] as const
  await sql`
    insert into product_category (product_id, category_id)
    select product.id, category.id from product join category using (tenant_id)
    where (product.id + category.id) % 20 = 0`
  await insertFor(shops, ...sales, 5)
  return {
    ...{ mostTenants, root, branch, elsewhere, owners, shops, products, categories },
    tenants: await tenants('tenant ', Math.floor(mostTenants / 3)),
    variants: ids(
      await sql`
      insert into variant (product_id, slug, title, currency) select id, 'v', 'first', 'GBP' from product returning id`,
    ),
    vouchers: await insertFor(owners, ...sales, 3 * size),
    customers: await insertFor(owners, 'customer', 'surname, marketing_opted', "'first', n % 4 > 0"),
  }
}
