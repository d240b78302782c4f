/** The checks of all records that the service sends, field by field as `schema.ts` types them. */
import type { Check } from './check.ts'
import { array, boolean, day, id, instant, integer, nullable, number, object, optional, text } from './check.ts'
import type { components } from './schema.ts'

type Schemas = components['schemas']
/** A tenant of the token. */
export type Tenant = Schemas['Tenant']
/** A product that is sold as a voucher. */
export type CatalogVoucher = Schemas['CatalogVoucher']
/** A voucher that a customer bought. */
export type PurchasedVoucher = Schemas['PurchasedVoucher']
/** A customer who opted in to marketing. Personal data. */
export type MarketingSignup = Schemas['MarketingSignup']
/** The worth of a voucher, and the answer to whether it may be redeemed. */
export type Resolution = Schemas['Resolution']

/** The check of a tenant. */
export const tenant: Check<Tenant> = object<Tenant>({
  tenant_id: id,
  name: text,
  subdomain: optional(text),
  parent_id: optional(id),
  type: optional(text),
  updated_at: instant,
})

const category = object<Schemas['CategoryReference']>({ id, slug: text, title: text, sort_order: integer })

const variant = object<Schemas['Variant']>({
  id,
  slug: text,
  title: text,
  price: nullable(number),
  sale_price: nullable(number),
  currency: text,
  is_monetary: boolean,
  sort_order: integer,
  updated_at: nullable(instant),
})

/** The check of a product. */
export const catalogVoucher: Check<CatalogVoucher> = object<CatalogVoucher>({
  id,
  slug: text,
  title: text,
  summary: nullable(text),
  description_html: nullable(text),
  currency: text,
  price: nullable(number),
  sale_price: nullable(number),
  from_price: nullable(number),
  from_sale_price: nullable(number),
  monetary_value: nullable(number),
  is_monetary: boolean,
  allow_part_redeem: boolean,
  validity_type: optional(text),
  validity_months: nullable(integer),
  redemption_info: nullable(text),
  sort_order: integer,
  image_url: nullable(text),
  image_urls: array(text),
  category_refs: array(category),
  variant_summaries: array(variant),
  categories: optional(array(category)),
  variants: optional(array(variant)),
  updated_at: nullable(instant),
})

/** The check of a purchased voucher. */
export const purchasedVoucher: Check<PurchasedVoucher> = object<PurchasedVoucher>({
  id,
  reference: text,
  initial_balance: optional(number),
  current_balance: optional(number),
  purchase_value: optional(number),
  currency: optional(text),
  is_monetary: boolean,
  allow_part_redeem: boolean,
  void: boolean,
  order_id: optional(id),
  order_item_id: optional(id),
  product_id: optional(id),
  product_title: optional(text),
  product_slug: optional(text),
  parent_product_id: optional(id),
  parent_product_title: optional(text),
  purchase_timestamp: optional(instant),
  date_issued: optional(instant),
  date_valid_start: optional(day),
  date_valid_end: optional(day),
  date_scheduled: optional(instant),
  redemption_status: optional(text),
  void_reason: optional(text),
  void_date: optional(instant),
  created_at: instant,
  updated_at: instant,
})

/** The check of a marketing signup. */
export const marketingSignup: Check<MarketingSignup> = object<MarketingSignup>({
  id,
  email: optional(text),
  marketing_opted: boolean,
  consented_at: optional(instant),
  consent_source: optional(text),
  created_at: instant,
  updated_at: instant,
  forename: optional(text),
  surname: optional(text),
  full_name: optional(text),
  phone_number: optional(text),
  address_1: optional(text),
  address_2: optional(text),
  town: optional(text),
  city: optional(text),
  county: optional(text),
  country: optional(text),
  countryiso2: optional(text),
  postcode: optional(text),
})

/** The check of a resolution. */
export const resolution: Check<Resolution> = object<Resolution>({
  status: text,
  reason_code: optional(text),
  voucher: object<Schemas['ResolutionVoucher']>({
    id,
    reference: text,
    current_balance: optional(number),
    initial_balance: optional(number),
    currency: optional(text),
    is_monetary: boolean,
    allow_part_redeem: boolean,
    status: text,
    reason_code: optional(text),
    product_title: optional(text),
    recipient_name: optional(text),
    customer_name: optional(text),
    redemption_status: optional(text),
    void: boolean,
    date_valid_start: optional(day),
    date_valid_end: optional(day),
  }),
  tenant: object<Schemas['ResolutionTenant']>({
    id,
    name: text,
    type: optional(text),
    source_tenant_id: id,
    source_tenant_name: text,
    source_tenant_type: optional(text),
  }),
  redemption_token: optional(text),
})
