/**
 * L0: Postgres builds the JSON and Node only forwards its text: the least work that Node can do. It leaves out the
 * rate, the tree of tenants and permissions.
 */
import { connect } from './database.ts'
import { serve } from './rest.ts'
import { signToken } from './sign.ts'

/** SQL for the JSON of a column of each kind; null for a null column. */
const json = {
  plain: (column: string) => `${column}::text`,
  text: (column: string) => `to_json(${column})::text`,
  instant: (column: string) => `'"' || to_char(${column}, 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') || '"'`,
  date: (column: string) => `'"' || ${column}::text || '"'`,
}

const isKind = (word: string): word is keyof typeof json => Object.hasOwn(json, word)

/**
 * Returns SQL for the members of a JSON object, without the braces. The first member is never left out.
 *
 * @param keys each with its kind, if it is not plain; `?`: left out when null; `or null`: null when null; `= column`
 */
function members(keys: string, table: string): string {
  return keys
    .trim()
    .split(/,\s*/)
    .map((member, index) => {
      const [description = '', column] = member.split(' = ')
      const [key = '', ...words] = description.replace('?', ' ?').split(' ')
      const name = `${index === 0 ? '' : ','}"${key}":`
      const value = json[words.find(isKind) ?? 'plain'](column ?? `${table}.${key}`)
      // concat() skips null.
      if (words.includes('?')) return `'${name}' || ${value}`
      return words.includes('null') ? `'${name}', coalesce(${value}, 'null')` : `'${name}', ${value}`
    })
    .join(', ')
}

const voucher = `id, reference text, initial_balance?, current_balance?, purchase_value?, currency text?, is_monetary,
  allow_part_redeem, void, order_id?, order_item_id?, product_id?, product_title text?, product_slug text?, parent_product_id?,
  parent_product_title text?, purchase_timestamp instant?, date_issued instant?, date_valid_start date?, date_valid_end date?,
  date_scheduled instant?, redemption_status text?, void_reason text?, void_date instant?, created_at instant,
  updated_at instant`
const category = 'id, slug text, title text, sort_order'
const variant = `id, slug text, title text, price or null, sale_price or null, currency text, is_monetary, sort_order,
  updated_at instant`
const product = `id, slug text, title text, summary text or null, description_html text or null, currency text, price or null,
  sale_price or null, from_price or null = variants.from_price, from_sale_price or null = variants.from_sale_price,
  monetary_value or null, is_monetary, allow_part_redeem, validity_type text?, validity_months or null,
  redemption_info text or null, sort_order, image_url text or null, image_urls text, category_refs = categories.json,
  variant_summaries = variants.json, updated_at instant`
const resolvedVoucher = `id, reference text, current_balance?, initial_balance?, currency text?, is_monetary, allow_part_redeem,
  status text, reason_code text?, product_title text?, recipient_name text?, customer_name text?, redemption_status text?, void,
  date_valid_start date?, date_valid_end date?`
const resolutionTenant = `id = row.tenant_id, name text = row.tenant_name, type text? = row.tenant_type,
  source_tenant_id = row.tenant_id, source_tenant_name text = row.tenant_name, source_tenant_type text? = row.tenant_type`

const jsonObject = (keys: string, table: string) => `concat('{', ${members(keys, table)}, '}')`

/** SQL for the body of a list from `page`, which holds one row more than a page when the list continues. */
const body = `
  select concat('{"data":[', array_to_string((array_agg(json))[1:50], ','), '],"next_cursor":',
    case when count(*) > 50
      then '"' || translate(encode(convert_to(to_char((array_agg(updated_at))[50], 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')
                                              || '|' || (array_agg(id))[50], 'UTF8'), 'base64'), '+/=', '-_') || '"'
      else 'null' end,
    ',"server_time":"', to_char((select max(stamp) from gateway.step), 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), '"}') as body
  from page`

const voucherPage = `
  with page as (
    select ${jsonObject(voucher, 'row')} as json, row.updated_at, row.id
    from (
      select * from gateway.voucher
      where tenant_id = $1::bigint and (updated_at, id) > ($2::text::timestamptz, $3::bigint)
      order by updated_at, id limit 51
    ) row
  ) ${body}`

const productPage = `
  with page as (
    select ${jsonObject(product, 'row')} as json, row.updated_at, row.id
    from (
      select * from gateway.product
      where tenant_id = $1::bigint and (updated_at, id) > ($2::text::timestamptz, $3::bigint)
      order by updated_at, id limit 51
    ) row
    cross join lateral (
      select concat('[', string_agg(${jsonObject(category, 'category')}, ',' order by sort_order, id), ']') as json
      from gateway.category where id = any(row.category_ids)
    ) categories
    cross join lateral (
      select concat('[', string_agg(${jsonObject(variant, 'variant')}, ',' order by sort_order, id), ']') as json,
             min(price) as from_price, min(sale_price) as from_sale_price
      from gateway.variant where product_id = row.id
    ) variants
  ) ${body}`

const oneVoucher = `
  select concat('{"data":', ${jsonObject(voucher, 'row')}, '}') as body
  from gateway.voucher row where tenant_id = $1::bigint and id = $2::bigint`

const resolution = `
  with found as (
    select voucher.*, tenant.name as tenant_name, tenant.type as tenant_type,
           case when void then 'void'
                when lower(redemption_status) = 'redeemed' then 'redeemed'
                when current_balance <= 0 then 'no_balance'
                when (now() at time zone time_zone)::date > date_valid_end then 'expired'
                when (now() at time zone time_zone)::date < date_valid_start then 'not_yet_valid' end as reason_code
    from (
      select id from gateway.voucher_entry
      where gateway.folded(gateway.trimmed(reference)) collate "C" = gateway.folded(gateway.trimmed($2::text))
        and tenant_id = $1::bigint
    ) record
    join public.purchased_voucher voucher using (id) join gateway.tenant on tenant.id = tenant_id
  ), row as (
    select *, case when reason_code is null then 'redeemable' else 'not_redeemable' end as status from found
  )
  select concat('{"data":{"status":"', status, '"', ',"reason_code":"' || reason_code || '"',
                ',"voucher":', ${jsonObject(resolvedVoucher, 'row')}, ',"tenant":', ${jsonObject(resolutionTenant, 'row')}) as body,
         case when reason_code is null then id::text end as redeemable
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
  async resolve(tenant, reference, caller) {
    const parameters = [tenant, reference.trim()]
    const [row] = await sql.unsafe<{ body: string; redeemable: string | null }[]>(resolution, parameters, {
      prepare: true,
    })
    if (!row) return null
    const { body, redeemable } = row
    if (redeemable === null) return `${body}}}`
    return `${body},"redemption_token":"${signToken(Number(redeemable), tenant, caller)}"}}`
  },
})
