/** The objects of v1, made from rows by hand. JSON.stringify leaves out keys that are undefined. */
import type {
  CatalogVoucher,
  CategoryReference,
  PurchasedVoucher,
  ResolutionVoucher,
  Variant,
} from '../../packages/client/src/records.ts'

/** A row with the fields of a type of v1. A field that v1 omits is null. */
type Row<Type> = {
  [Field in keyof Type]-?: undefined extends Type[Field] ? Exclude<Type[Field], undefined> | null : Type[Field]
}

export type VoucherRow = Row<PurchasedVoucher>
export type ProductRow = Row<CatalogVoucher> & { updated_at: string }
export type CategoryRow = Row<CategoryReference> & { product_id: number }
export type VariantRow = Row<Variant> & { product_id: number }

export const toVoucher = (row: VoucherRow) => ({
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

export const toProduct = (row: ProductRow, categories: CategoryRow[], variants: VariantRow[]) => ({
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

export type ResolutionRow = Row<PurchasedVoucher & Pick<ResolutionVoucher, 'recipient_name' | 'customer_name'>> &
  Record<'tenant_id', number> &
  Record<'today' | 'tenant_name', string> & { tenant_type: string | null }

function reasonAgainst(row: ResolutionRow): string | undefined {
  if (row.void) return 'void'
  if (row.redemption_status?.toLowerCase() === 'redeemed') return 'redeemed'
  if (row.current_balance !== null && row.current_balance <= 0) return 'no_balance'
  if (row.date_valid_end !== null && row.today > row.date_valid_end) return 'expired'
  if (row.date_valid_start !== null && row.today < row.date_valid_start) return 'not_yet_valid'
  return undefined
}

/** @param signToken makes the token with which a redeemable voucher is redeemed */
export function toResolution(row: ResolutionRow, signToken: (row: ResolutionRow) => string) {
  const reason_code = reasonAgainst(row)
  const status = reason_code === undefined ? 'redeemable' : 'not_redeemable'
  return {
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
    redemption_token: status === 'redeemable' ? signToken(row) : undefined,
  }
}
