/**
 * L0: Postgres builds the JSON and Node only forwards its text: the least work that Node can do. It leaves out the
 * rate, the tree of tenants, permissions and the watermark.
 */
import { createHash, randomBytes } from 'node:crypto'
import { connect } from './database.ts'
import { serve } from './rest.ts'

/** The way in which a column is written as JSON. */
type Kind = 'plain' | 'text' | 'instant' | 'date'

/** SQL for the JSON of a column: null when the column is. */
const json: Record<Kind, (column: string) => string> = {
  plain: column => `${column}::text`,
  text: column => `to_json(${column})::text`,
  instant: column => `'"' || to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '"'`,
  date: column => `'"' || ${column}::text || '"'`,
}

/** The keys of an object: their columns, and whether a key with null is kept or left out. */
type Members = Record<string, { kind: Kind; column?: string; absent?: 'null' | 'left out' }>

const plain = { kind: 'plain' } as const
const text = { kind: 'text' } as const
const optional = (kind: Kind) => ({ kind, absent: 'left out' }) as const
const nullable = (kind: Kind, column?: string) => ({ kind, absent: 'null', ...(column ? { column } : {}) }) as const

/** SQL for the members of a JSON object, without the braces. The first is never left out. */
function members(of: Members, table: string): string {
  return Object.entries(of)
    .map(([key, { kind, column, absent }], index) => {
      const name = `${index === 0 ? '' : ','}"${key}":`
      const value = json[kind](column ?? `${table}.${key}`)
      if (absent === 'null') return `'${name}', coalesce(${value}, 'null')`
      // concat() skips null.
      return absent === 'left out' ? `'${name}' || ${value}` : `'${name}', ${value}`
    })
    .join(', ')
}

const voucher: Members = {
  id: plain,
  reference: text,
  initial_balance: optional('plain'),
  current_balance: optional('plain'),
  purchase_value: optional('plain'),
  currency: optional('text'),
  is_monetary: plain,
  allow_part_redeem: plain,
  void: plain,
  order_id: optional('plain'),
  order_item_id: optional('plain'),
  product_id: optional('plain'),
  product_title: optional('text'),
  product_slug: optional('text'),
  parent_product_id: optional('plain'),
  parent_product_title: optional('text'),
  purchase_timestamp: optional('instant'),
  date_issued: optional('instant'),
  date_valid_start: optional('date'),
  date_valid_end: optional('date'),
  date_scheduled: optional('instant'),
  redemption_status: optional('text'),
  void_reason: optional('text'),
  void_date: optional('instant'),
  created_at: { kind: 'instant' },
  updated_at: { kind: 'instant' },
}

const category: Members = { id: plain, slug: text, title: text, sort_order: plain }

const variant: Members = {
  id: plain,
  slug: text,
  title: text,
  price: nullable('plain'),
  sale_price: nullable('plain'),
  currency: text,
  is_monetary: plain,
  sort_order: plain,
  updated_at: nullable('instant'),
}

const product: Members = {
  id: plain,
  slug: text,
  title: text,
  summary: nullable('text'),
  description_html: nullable('text'),
  currency: text,
  price: nullable('plain'),
  sale_price: nullable('plain'),
  from_price: nullable('plain', 'variants.from_price'),
  from_sale_price: nullable('plain', 'variants.from_sale_price'),
  monetary_value: nullable('plain'),
  is_monetary: plain,
  allow_part_redeem: plain,
  validity_type: optional('text'),
  validity_months: nullable('plain'),
  redemption_info: nullable('text'),
  sort_order: plain,
  image_url: nullable('text'),
  image_urls: { kind: 'text' },
  category_refs: { kind: 'plain', column: 'categories.json' },
  variant_summaries: { kind: 'plain', column: 'variants.json' },
  updated_at: nullable('instant'),
}

const object = (of: Members, table: string) => `concat('{', ${members(of, table)}, '}')`

/** SQL for the body of a list from `page`, which holds one row more than a page when the list continues. */
const body = `
  select concat('{"data":[', array_to_string((array_agg(json))[1:50], ','), '],"next_cursor":',
    case when count(*) > 50
      then '"' || translate(encode(convert_to(to_char((array_agg(updated_at))[50], 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
                                              || '|' || (array_agg(id))[50], 'UTF8'), 'base64'), '+/=', '-_') || '"'
      else 'null' end,
    ',"server_time":"', to_char(clock_timestamp(), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '"}') as body
  from page`

const voucherPage = `
  with page as (
    select ${object(voucher, 'row')} as json, row.updated_at, row.id
    from (
      select * from purchased_voucher
      where tenant_id = $1::bigint and (updated_at, id) > ($2::text::timestamptz, $3::bigint)
      order by updated_at, id limit 51
    ) row
  ) ${body}`

const productPage = `
  with page as (
    select ${object(product, 'row')} as json, row.updated_at, row.id
    from (
      select * from product
      where tenant_id = $1::bigint
        and (coalesce(updated_at, '-infinity'), id) > ($2::text::timestamptz, $3::bigint)
      order by coalesce(updated_at, '-infinity'), id limit 51
    ) row
    cross join lateral (
      select concat('[', string_agg(${object(category, 'category')}, ',' order by sort_order, id), ']') as json
      from product_category join category on category.id = category_id where product_id = row.id
    ) categories
    cross join lateral (
      select concat('[', string_agg(${object(variant, 'variant')}, ',' order by sort_order, id), ']') as json,
             min(price) as from_price, min(sale_price) as from_sale_price
      from variant where product_id = row.id
    ) variants
  ) ${body}`

const oneVoucher = `
  select concat('{"data":', ${object(voucher, 'row')}, '}') as body
  from purchased_voucher row where tenant_id = $1::bigint and id = $2::bigint`

const resolvedVoucher: Members = {
  id: plain,
  reference: text,
  current_balance: optional('plain'),
  initial_balance: optional('plain'),
  currency: optional('text'),
  is_monetary: plain,
  allow_part_redeem: plain,
  status: text,
  reason_code: optional('text'),
  product_title: optional('text'),
  recipient_name: optional('text'),
  customer_name: optional('text'),
  redemption_status: optional('text'),
  void: plain,
  date_valid_start: optional('date'),
  date_valid_end: optional('date'),
}

const resolutionTenant: Members = {
  id: { kind: 'plain', column: 'row.tenant_id' },
  name: { kind: 'text', column: 'row.tenant_name' },
  type: { kind: 'text', column: 'row.tenant_type', absent: 'left out' },
  source_tenant_id: { kind: 'plain', column: 'row.tenant_id' },
  source_tenant_name: { kind: 'text', column: 'row.tenant_name' },
  source_tenant_type: { kind: 'text', column: 'row.tenant_type', absent: 'left out' },
}

const resolution = `
  with found as (
    select voucher.*, tenant.name as tenant_name, tenant.type as tenant_type,
           case when void then 'void'
                when (now() at time zone time_zone)::date < date_valid_start then 'not_yet_valid'
                when (now() at time zone time_zone)::date > date_valid_end then 'expired'
                when lower(redemption_status) = 'redeemed' then 'redeemed'
                when current_balance <= 0 then 'no_balance' end as reason_code
    from purchased_voucher voucher join tenant on tenant.id = tenant_id
    where gateway.folded(gateway.trimmed(reference)) collate "C" = gateway.folded(gateway.trimmed($2::text)) and tenant_id = $1::bigint
  ), row as (
    select *, case when reason_code is null then 'redeemable' else 'not_redeemable' end as status from found
  ), issued as (
    insert into gateway.redemption_token (token_hash, voucher_id, tenant_id, token_id, expires_at)
    select $3::bytea, id, tenant_id, $4::bigint, now() + interval '15 minutes' from row where reason_code is null
  )
  select concat('{"data":{"status":"', status, '"', ',"reason_code":"' || reason_code || '"',
                ',"voucher":', ${object(resolvedVoucher, 'row')}, ',"tenant":', ${object(resolutionTenant, 'row')},
                case when reason_code is null then ',"redemption_token":"' || $5::text || '"' end, '}}') as body
  from row`

const sql = connect()

async function run(statement: string, ...parameters: (string | number | Buffer)[]): Promise<string | null> {
  const [row] = await sql.unsafe<{ body: string }[]>(statement, parameters, { prepare: true })
  return row?.body ?? null
}

await serve(sql, {
  vouchers: async (tenant, { updatedAt, id }) => (await run(voucherPage, tenant, updatedAt, id)) ?? '',
  products: async (tenant, { updatedAt, id }) => (await run(productPage, tenant, updatedAt, id)) ?? '',
  voucher: (tenant, id) => run(oneVoucher, tenant, id),
  resolve: (tenant, reference, caller) => {
    const secret = `vgr_${randomBytes(32).toString('base64url')}`
    return run(resolution, tenant, reference.trim(), createHash('sha256').update(secret).digest(), caller.id, secret)
  },
})
