/**
 * L1: written by hand: typed rows, mapped to objects, and JSON.stringify. It leaves out the rate, the tree of tenants and
 * permissions.
 */
import { writeCursor } from './cursor.ts'
import { connect } from './database.ts'
import { serve } from './rest.ts'
import { signToken } from './sign.ts'

const pageSize = 50

type NumberOrNull<Key extends string> = Record<Key, number | null>
type TextOrNull<Key extends string> = Record<Key, string | null>

type VoucherRow = Record<'id', number> &
  Record<'reference' | 'created_at' | 'updated_at', string> &
  Record<'is_monetary' | 'allow_part_redeem' | 'void', boolean> &
  NumberOrNull<'initial_balance' | 'current_balance' | 'purchase_value' | 'order_id' | 'order_item_id'> &
  NumberOrNull<'product_id' | 'parent_product_id'> &
  TextOrNull<'currency' | 'product_title' | 'product_slug' | 'parent_product_title' | 'purchase_timestamp'> &
  TextOrNull<'date_issued' | 'date_valid_start' | 'date_valid_end' | 'date_scheduled' | 'redemption_status'> &
  TextOrNull<'void_reason' | 'void_date'>

type ProductRow = Record<'id' | 'sort_order', number> &
  Record<'slug' | 'title' | 'currency' | 'updated_at', string> &
  Record<'is_monetary' | 'allow_part_redeem', boolean> &
  Record<'image_urls', string[]> &
  NumberOrNull<'price' | 'sale_price' | 'monetary_value' | 'validity_months'> &
  TextOrNull<'summary' | 'description_html' | 'validity_type' | 'redemption_info' | 'image_url'>

type CategoryRow = Record<'product_id' | 'id' | 'sort_order', number> & Record<'slug' | 'title', string>

type VariantRow = CategoryRow &
  Record<'currency' | 'updated_at', string> &
  Record<'is_monetary', boolean> &
  NumberOrNull<'price' | 'sale_price'>

/** A row of a list with the stamp of the last step, or only that stamp when the list is empty. */
type Listed<Row> = (Row | { id: null }) & { server_time: string }

const sql = connect()

const voucherColumns = sql`
  id, reference, initial_balance, current_balance, purchase_value, currency, is_monetary, allow_part_redeem, void,
  order_id, order_item_id, product_id, product_title, product_slug, parent_product_id, parent_product_title,
  purchase_timestamp, date_issued, date_valid_start, date_valid_end, date_scheduled, redemption_status, void_reason,
  void_date, created_at, updated_at`

/** JSON.stringify leaves out keys that are undefined. */
const toVoucher = (row: VoucherRow) => ({
  id: row.id,
  reference: row.reference,
  initial_balance: row.initial_balance ?? undefined,
  current_balance: row.current_balance ?? undefined,
  purchase_value: row.purchase_value ?? undefined,
  currency: row.currency ?? undefined,
  is_monetary: row.is_monetary,
  allow_part_redeem: row.allow_part_redeem,
  void: row.void,
  order_id: row.order_id ?? undefined,
  order_item_id: row.order_item_id ?? undefined,
  product_id: row.product_id ?? undefined,
  product_title: row.product_title ?? undefined,
  product_slug: row.product_slug ?? undefined,
  parent_product_id: row.parent_product_id ?? undefined,
  parent_product_title: row.parent_product_title ?? undefined,
  purchase_timestamp: row.purchase_timestamp ?? undefined,
  date_issued: row.date_issued ?? undefined,
  date_valid_start: row.date_valid_start ?? undefined,
  date_valid_end: row.date_valid_end ?? undefined,
  date_scheduled: row.date_scheduled ?? undefined,
  redemption_status: row.redemption_status ?? undefined,
  void_reason: row.void_reason ?? undefined,
  void_date: row.void_date ?? undefined,
  created_at: row.created_at,
  updated_at: row.updated_at,
})

const toCategory = ({ id, slug, title, sort_order }: CategoryRow) => ({ id, slug, title, sort_order })

const toVariant = (row: VariantRow) => ({
  id: row.id,
  slug: row.slug,
  title: row.title,
  price: row.price,
  sale_price: row.sale_price,
  currency: row.currency,
  is_monetary: row.is_monetary,
  sort_order: row.sort_order,
  updated_at: row.updated_at,
})

/** @returns the lowest value that is not null; null when all values are null */
function lowest(values: (number | null)[]): number | null {
  const present = values.filter(value => value !== null)
  return present.length > 0 ? Math.min(...present) : null
}

const toProduct = (row: ProductRow, categories: CategoryRow[], variants: VariantRow[]) => ({
  id: row.id,
  slug: row.slug,
  title: row.title,
  summary: row.summary,
  description_html: row.description_html,
  currency: row.currency,
  price: row.price,
  sale_price: row.sale_price,
  from_price: lowest(variants.map(variant => variant.price)),
  from_sale_price: lowest(variants.map(variant => variant.sale_price)),
  monetary_value: row.monetary_value,
  is_monetary: row.is_monetary,
  allow_part_redeem: row.allow_part_redeem,
  validity_type: row.validity_type ?? undefined,
  validity_months: row.validity_months,
  redemption_info: row.redemption_info,
  sort_order: row.sort_order,
  image_url: row.image_url,
  image_urls: row.image_urls,
  category_refs: categories.map(toCategory),
  variant_summaries: variants.map(toVariant),
  updated_at: row.updated_at,
})

/** @returns the records of a page, and one more when the list goes on */
const recordsOf = <Row extends { id: number }>(rows: Listed<Row>[]): Row[] =>
  rows.filter((row): row is Listed<Row> & Row => row.id !== null)

function toBody<Row extends { id: number; updated_at: string }>(rows: Listed<Row>[], data: object[]): string {
  const last = rows.length > pageSize ? recordsOf(rows)[pageSize - 1] : undefined
  return JSON.stringify({
    data,
    next_cursor: last ? writeCursor({ updatedAt: last.updated_at, id: last.id }) : null,
    server_time: rows[0]?.server_time,
  })
}

function groupByProduct<Row extends { product_id: number }>(rows: Row[]): Map<number, Row[]> {
  const groups = new Map<number, Row[]>()
  for (const row of rows) {
    const group = groups.get(row.product_id)
    if (group) group.push(row)
    else groups.set(row.product_id, [row])
  }
  return groups
}

type ResolutionRow = VoucherRow &
  Record<'tenant_id', number> &
  Record<'today' | 'tenant_name', string> &
  TextOrNull<'recipient_name' | 'customer_name' | 'tenant_type'>

function reasonAgainst(row: ResolutionRow): string | undefined {
  if (row.void) return 'void'
  if (row.redemption_status?.toLowerCase() === 'redeemed') return 'redeemed'
  if (row.current_balance !== null && row.current_balance <= 0) return 'no_balance'
  if (row.date_valid_end !== null && row.today > row.date_valid_end) return 'expired'
  if (row.date_valid_start !== null && row.today < row.date_valid_start) return 'not_yet_valid'
  return undefined
}

await serve(sql, {
  async vouchers(tenant, { updatedAt, id }) {
    const rows = await sql<Listed<VoucherRow>[]>`
      select server_time, page.*
      from (select max(stamp) as server_time from gateway.step) step left join lateral (
        select ${voucherColumns} from gateway.voucher
        where tenant_id = ${tenant} and (updated_at, id) > (${updatedAt}::text::timestamptz, ${id}::bigint)
        order by updated_at, id limit ${pageSize + 1}
      ) page on true`
    return toBody(rows, recordsOf(rows).slice(0, pageSize).map(toVoucher))
  },

  async products(tenant, { updatedAt, id }) {
    const rows = await sql<Listed<ProductRow>[]>`
      select server_time, page.*
      from (select max(stamp) as server_time from gateway.step) step left join lateral (
        select id, slug, title, summary, description_html, currency, price, sale_price, monetary_value, is_monetary,
               allow_part_redeem, validity_type, validity_months, redemption_info, sort_order, image_url,
               array_to_json(image_urls) as image_urls, updated_at
        from gateway.product
        where tenant_id = ${tenant} and (updated_at, id) > (${updatedAt}::text::timestamptz, ${id}::bigint)
        order by updated_at, id limit ${pageSize + 1}
      ) page on true`
    const shown = recordsOf(rows).slice(0, pageSize)
    const ids = `{${shown.map(row => row.id).join(',')}}`
    const [categoryRows, variantRows] = await Promise.all([
      sql<CategoryRow[]>`
        select product.id as product_id, category.id, category.slug, category.title, category.sort_order
        from gateway.product, unnest(category_ids) category_id join gateway.category on category.id = category_id
        where product.id = any(${ids}::text::bigint[]) order by category.sort_order, category.id`,
      sql<VariantRow[]>`
        select product_id, id, slug, title, price, sale_price, currency, is_monetary, sort_order, updated_at
        from gateway.variant where product_id = any(${ids}::text::bigint[]) order by sort_order, id`,
    ])
    const categories = groupByProduct(categoryRows)
    const variants = groupByProduct(variantRows)
    return toBody(
      rows,
      shown.map(row => toProduct(row, categories.get(row.id) ?? [], variants.get(row.id) ?? [])),
    )
  },

  async voucher(tenant, id) {
    const [row] = await sql<VoucherRow[]>`
      select ${voucherColumns} from gateway.voucher where tenant_id = ${tenant} and id = ${id}`
    return row ? JSON.stringify({ data: toVoucher(row) }) : null
  },

  async resolve(tenant, reference, caller) {
    const [row] = await sql<ResolutionRow[]>`
      select voucher.*, (now() at time zone time_zone)::date as today, tenant.name as tenant_name, tenant.type as tenant_type
      from gateway.voucher_entry record join public.purchased_voucher voucher using (id)
      join gateway.tenant on tenant.id = record.tenant_id
      where gateway.folded(gateway.trimmed(record.reference)) collate "C" = gateway.folded(gateway.trimmed(${reference}))
        and record.tenant_id = ${tenant}`
    if (!row) return null
    const reason_code = reasonAgainst(row)
    const status = reason_code === undefined ? 'redeemable' : 'not_redeemable'
    const redemption_token = status === 'redeemable' ? signToken(row.id, tenant, caller) : undefined
    return JSON.stringify({
      data: {
        status,
        reason_code,
        voucher: {
          id: row.id,
          reference: row.reference,
          current_balance: row.current_balance ?? undefined,
          initial_balance: row.initial_balance ?? undefined,
          currency: row.currency ?? undefined,
          is_monetary: row.is_monetary,
          allow_part_redeem: row.allow_part_redeem,
          status,
          reason_code,
          product_title: row.product_title ?? undefined,
          recipient_name: row.recipient_name ?? undefined,
          customer_name: row.customer_name ?? undefined,
          redemption_status: row.redemption_status ?? undefined,
          void: row.void,
          date_valid_start: row.date_valid_start ?? undefined,
          date_valid_end: row.date_valid_end ?? undefined,
        },
        tenant: {
          id: row.tenant_id,
          name: row.tenant_name,
          type: row.tenant_type ?? undefined,
          source_tenant_id: row.tenant_id,
          source_tenant_name: row.tenant_name,
          source_tenant_type: row.tenant_type ?? undefined,
        },
        redemption_token,
      },
    })
  },
})
