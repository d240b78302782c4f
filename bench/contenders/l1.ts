/**
 * L1: written by hand: typed rows, mapped to objects, and JSON.stringify. It leaves out the rate, the tree of tenants,
 * permissions and the watermark, so its lists may miss records that are written during a read.
 */
import { createHash, randomBytes } from 'node:crypto'
import { writeCursor } from './cursor.ts'
import { connect } from './database.ts'
import { serve } from './rest.ts'

const pageSize = 50

interface VoucherRow {
  id: number
  reference: string
  initial_balance: number | null
  current_balance: number | null
  purchase_value: number | null
  currency: string | null
  is_monetary: boolean
  allow_part_redeem: boolean
  void: boolean
  order_id: number | null
  order_item_id: number | null
  product_id: number | null
  product_title: string | null
  product_slug: string | null
  parent_product_id: number | null
  parent_product_title: string | null
  purchase_timestamp: string | null
  date_issued: string | null
  date_valid_start: string | null
  date_valid_end: string | null
  date_scheduled: string | null
  redemption_status: string | null
  void_reason: string | null
  void_date: string | null
  created_at: string
  updated_at: string
}

interface ProductRow {
  id: number
  slug: string
  title: string
  summary: string | null
  description_html: string | null
  currency: string
  price: number | null
  sale_price: number | null
  monetary_value: number | null
  is_monetary: boolean
  allow_part_redeem: boolean
  validity_type: string | null
  validity_months: number | null
  redemption_info: string | null
  sort_order: number
  image_url: string | null
  image_urls: string[]
  updated_at: string | null
}

interface CategoryRow {
  product_id: number
  id: number
  slug: string
  title: string
  sort_order: number
}

interface VariantRow {
  product_id: number
  id: number
  slug: string
  title: string
  price: number | null
  sale_price: number | null
  currency: string
  is_monetary: boolean
  sort_order: number
  updated_at: string | null
}

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

/** @returns the lowest value that is not null; null without one */
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

function toBody<Row extends { id: number; updated_at: string | null }>(rows: Row[], data: object[]): string {
  const last = rows.length > pageSize ? rows[pageSize - 1] : undefined
  return JSON.stringify({
    data,
    next_cursor: last ? writeCursor({ updatedAt: last.updated_at ?? '-infinity', id: last.id }) : null,
    server_time: new Date().toISOString(),
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

interface ResolutionRow extends VoucherRow {
  recipient_name: string | null
  customer_name: string | null
  today: string
  tenant_id: number
  tenant_name: string
  tenant_type: string | null
}

function reasonAgainst(row: ResolutionRow): string | undefined {
  if (row.void) return 'void'
  if (row.date_valid_start !== null && row.today < row.date_valid_start) return 'not_yet_valid'
  if (row.date_valid_end !== null && row.today > row.date_valid_end) return 'expired'
  if (row.redemption_status?.toLowerCase() === 'redeemed') return 'redeemed'
  if (row.current_balance !== null && row.current_balance <= 0) return 'no_balance'
  return undefined
}

await serve(sql, {
  async vouchers(tenant, { updatedAt, id }) {
    const rows = await sql<VoucherRow[]>`
      select ${voucherColumns} from purchased_voucher
      where tenant_id = ${tenant} and (updated_at, id) > (${updatedAt}::text::timestamptz, ${id}::bigint)
      order by updated_at, id limit ${pageSize + 1}`
    return toBody(rows, rows.slice(0, pageSize).map(toVoucher))
  },

  async products(tenant, { updatedAt, id }) {
    const rows = await sql<ProductRow[]>`
      select id, slug, title, summary, description_html, currency, price, sale_price, monetary_value, is_monetary,
             allow_part_redeem, validity_type, validity_months, redemption_info, sort_order, image_url,
             array_to_json(image_urls) as image_urls, updated_at
      from product
      where tenant_id = ${tenant}
        and (coalesce(updated_at, '-infinity'), id) > (${updatedAt}::text::timestamptz, ${id}::bigint)
      order by coalesce(updated_at, '-infinity'), id limit ${pageSize + 1}`
    const shown = rows.slice(0, pageSize)
    const ids = `{${shown.map(row => row.id).join(',')}}`
    const [categoryRows, variantRows] = await Promise.all([
      sql<CategoryRow[]>`
        select product_id, id, slug, title, sort_order
        from product_category join category on category.id = category_id
        where product_id = any(${ids}::text::bigint[]) order by sort_order, id`,
      sql<VariantRow[]>`
        select product_id, id, slug, title, price, sale_price, currency, is_monetary, sort_order, updated_at
        from variant where product_id = any(${ids}::text::bigint[]) order by sort_order, id`,
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
      select ${voucherColumns} from purchased_voucher where tenant_id = ${tenant} and id = ${id}`
    return row ? JSON.stringify({ data: toVoucher(row) }) : null
  },

  async resolve(tenant, reference, caller) {
    const [row] = await sql<ResolutionRow[]>`
      select voucher.*, (now() at time zone time_zone)::date as today, tenant.name as tenant_name,
             tenant.type as tenant_type
      from purchased_voucher voucher join tenant on tenant.id = tenant_id
      where gateway.folded(gateway.trimmed(reference)) collate "C" = gateway.folded(gateway.trimmed(${reference})) and tenant_id = ${tenant}`
    if (!row) return null
    const reason_code = reasonAgainst(row)
    const status = reason_code === undefined ? 'redeemable' : 'not_redeemable'
    let redemption_token: string | undefined
    if (status === 'redeemable') {
      redemption_token = `vgr_${randomBytes(32).toString('base64url')}`
      await sql`
        insert into gateway.redemption_token (token_hash, voucher_id, tenant_id, token_id, expires_at)
        values (${createHash('sha256').update(redemption_token).digest()}, ${row.id}, ${tenant}, ${caller.id},
                now() + interval '15 minutes')`
    }
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
