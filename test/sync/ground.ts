import postgres from '#postgres'

/** Where the database is, for connections of the suite's own. */
export interface Address {
  host: string
  port: number
  user: string
  database: string
}

/** What the writers write on: ids that exist, or existed. Each writer adds those it made. */
export interface Ground {
  /** Authorises for all tenants: it is above them. */
  root: number
  /** The tenants that own records; none of them is deleted. */
  owners: number[]
  /** Tenants that own nothing. */
  tenants: number[]
  products: number[]
  variants: number[]
  categories: number[]
  vouchers: number[]
  customers: number[]
}

/** A role that may sell vouchers and nothing else. */
export const insertOnlyRole = 'stress_seller'

/** Opens a plain connection, with nothing of the service's in it. */
export const open = (address: Address, options: postgres.Options<Record<string, never>> = {}) =>
  postgres({
    ...address,
    max: 1,
    onnotice: () => {},
    ...options,
    connection: { application_name: 'stress', TimeZone: 'UTC', ...options.connection },
  })

/**
 * Prepares a migrated database: the first rows, the insert-only role, and what the control reads, a stamp as it is
 * usually taken.
 *
 * The control's column is of the vouchers' own table, so that it differs from the service's in nothing but the stamp.
 */
export async function prepareGround(address: Address, size = 100): Promise<Ground> {
  const sql = open(address)
  await sql.unsafe(`
    alter table purchased_voucher add column naive_stamp timestamptz not null default now();
    create index purchased_voucher_naive on purchased_voucher (tenant_id, naive_stamp, id);
    create function naive_stamp() returns trigger language plpgsql as
      $$ begin new.naive_stamp := now(); return new; end $$;
    create trigger a_naive_stamp before insert or update on purchased_voucher
      for each row execute function naive_stamp();
    alter table purchased_voucher enable always trigger a_naive_stamp;
    do $$ begin
      create role ${insertOnlyRole} login;
    exception when duplicate_object or unique_violation then null;
    end $$;
    grant usage on schema public to ${insertOnlyRole};
    grant insert on purchased_voucher to ${insertOnlyRole};`)
  const ids = (rows: postgres.RowList<postgres.Row[]>) => rows.map(row => Number(row.id))
  const [root = 0] = ids(await sql`insert into tenant (name) values ('root') returning id`)
  const tenants = async (name: string, count: number) =>
    ids(
      await sql`
      insert into tenant (name, parent_id) select ${name} || n, ${root}::bigint from generate_series(1, ${count}::int) n
      returning id`,
    )
  const owners = await tenants('owner ', 2)
  const perOwner = async (statement: (owner: number) => postgres.PendingQuery<postgres.Row[]>) =>
    (await Promise.all(owners.map(async owner => ids(await statement(owner))))).flat()
  const products = await perOwner(
    owner => sql`
      insert into product (tenant_id, slug, title, currency)
      select ${owner}::bigint, 'p' || n, 'first', 'GBP' from generate_series(1, ${size}::int) n returning id`,
  )
  const categories = await perOwner(
    owner => sql`
      insert into category (tenant_id, slug, title)
      select ${owner}::bigint, 'c' || n, 'first' from generate_series(1, 20) n returning id`,
  )
  // A category has few products, or each change of one would stamp them all.
  await sql`
    insert into product_category (product_id, category_id)
    select product.id, category.id from product join category using (tenant_id)
    where (product.id + category.id) % 20 = 0`
  const ground: Ground = {
    root,
    owners,
    tenants: await tenants('tenant ', 20),
    products,
    variants: ids(
      await sql`
      insert into variant (product_id, slug, title, currency) select id, 'v', 'first', 'GBP' from product returning id`,
    ),
    categories,
    vouchers: await perOwner(
      owner => sql`
        insert into purchased_voucher (tenant_id, reference, product_title)
        select ${owner}::bigint, 'first-' || ${owner}::text || '-' || n, 'first'
        from generate_series(1, ${3 * size}::int) n returning id`,
    ),
    customers: await perOwner(
      owner => sql`
        insert into customer (tenant_id, surname, marketing_opted)
        select ${owner}::bigint, 'first', n % 4 > 0 from generate_series(1, ${size}::int) n returning id`,
    ),
  }
  await sql.end()
  return ground
}
