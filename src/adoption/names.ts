/**
 * The names that platforms use for the tables and columns of v1, the likeliest first. The names of v1 are not repeated
 * here.
 */

/** The names of tables for each type of records, in the singular. */
const tableSynonyms: Record<string, string> = {
  tenant: 'merchant store shop venue outlet branch location organisation organization company channel',
  category: 'product_category collection taxon',
  variant: 'product_variant product_option sku',
  product: 'item catalog_item article voucher_type voucher_template gift_card_type offer',
  voucher:
    'purchased_voucher sold_voucher issued_voucher voucher_purchase coupon_purchase gift_card gift_voucher gift_certificate coupon',
  customer: 'person people buyer client contact member user account',
}

const columnSynonyms: Record<string, string> = {
  parent_id: 'parent',
  tenant_id: 'shop_id store_id merchant_id venue_id',
  name: 'title display_name',
  subdomain: 'slug handle',
  type: 'kind',
  time_zone: 'timezone tz zone',
  slug: 'handle permalink url_key code sku',
  title: 'name label display_name',
  summary: 'subtitle short_description excerpt',
  description_html: 'description body_html long_description',
  sort_order: 'position rank sort display_order',
  currency: 'currency_code currency_iso default_currency_code',
  price: 'unit_price amount cents',
  sale_price: 'discount_price special_price',
  monetary_value: 'value face_value',
  validity_months: 'months_valid valid_months',
  redemption_info: 'redemption_instructions how_to_redeem terms',
  image_url: 'image thumbnail picture_url',
  image_urls: 'images',
  reference: 'code number voucher_code serial serial_number',
  qr_token: 'qr_code token',
  initial_balance: 'initial_value initial_amount original_value face_value value amount cents',
  current_balance: 'balance remaining_balance remaining_value remaining_amount remaining current_value',
  purchase_value: 'purchase_price price_paid amount_paid price',
  void: 'is_void voided is_voided blocked is_blocked disabled is_disabled cancelled is_cancelled',
  order_id: 'order',
  order_item_id: 'line_item_id order_line_id',
  product_title: 'product_name',
  purchase_timestamp: 'purchased_at sold_at purchase_date bought_at',
  date_issued: 'issued_at issued_on issue_date',
  date_valid_start: 'valid_from starts_at starts_on start_date',
  date_valid_end: 'valid_until valid_to expires_at expires_on expiry_date expiration_date ends_at end_date',
  date_scheduled: 'scheduled_at send_at deliver_at delivery_date',
  void_reason: 'cancellation_reason block_reason',
  void_date: 'voided_at cancelled_at canceled_at blocked_at',
  recipient_name: 'recipient',
  customer_name: 'purchaser_name buyer_name',
  created_at: 'created created_on date_created inserted_at sold_at purchased_at',
  email: 'email_address mail',
  marketing_opted: 'accepts_marketing marketing_consent marketing_opt_in newsletter newsletter_opt_in opted_in',
  consented_at: 'marketing_consent_at accepts_marketing_at opted_in_at',
  forename: 'first_name given_name firstname',
  surname: 'last_name family_name lastname',
  full_name: 'name display_name',
  phone_number: 'phone telephone mobile',
  address_1: 'address1 address_line_1 address_line1 street',
  address_2: 'address2 address_line_2 address_line2',
  county: 'province',
  countryiso2: 'country_code country_iso2',
  postcode: 'postal_code zip_code zip',
}

const namesOf = (own: string, others: Record<string, string>) => [own, ...(others[own]?.split(' ') ?? [])]

/** Returns the possible table names of a type of records. */
export const tableNames = (record: string): string[] => namesOf(record, tableSynonyms)

/** Returns the possible column names of a column of a mapping. */
export const columnNames = (column: string): string[] => namesOf(column, columnSynonyms)

/** Columns that are true when a voucher is not void. */
export const activeColumnNames = ['active', 'is_active', 'enabled', 'is_enabled']

/** Columns and enum values that mark a product that is on sale. */
export const shownNames = [...activeColumnNames, 'published', 'is_published', 'visible', 'is_visible']
export const shownWords = ['published', 'active']

/** Columns that mark the products that are vouchers. */
export const voucherFlags = ['is_voucher', 'is_gift_card', 'is_giftcard']

/** Words of an enum that mean `void`. */
export const voidWords = ['void', 'voided', 'blocked', 'disabled', 'cancelled', 'canceled']

/** Columns that mark a row as deleted. */
export const deletedNames = ['deleted_at', 'date_deleted', 'is_deleted', 'deleted']

/** The columns of v1 that have the key of a record of another type, with that type. */
export const references: Record<string, string> = { tenant_id: 'tenant', parent_id: 'tenant', product_id: 'product' }

/** The columns of v1 that have one key, or a list of keys, of another type. */
export const keyColumns: Record<string, string> = {
  ...references,
  ...{ parent_product_id: 'product', category_ids: 'category' },
}

/**
 * The columns of v1 that a platform may have in a referenced table: in the table of the named type, or in any table.
 */
export const joinedColumns: Record<string, { record?: string; column: string }> = {
  currency: { column: 'currency' },
  time_zone: { record: 'tenant', column: 'time_zone' },
  product_title: { record: 'product', column: 'title' },
  product_slug: { record: 'product', column: 'slug' },
}

/** The types in `pg_type` that convert to the type of a column of a mapping. */
export const sourceTypes: Record<string, string[]> = {
  bigint: ['int8', 'int4', 'int2', 'uuid', 'text', 'varchar'],
  text: ['text', 'varchar', 'bpchar', 'citext', 'enum'],
  'text[]': ['_text', '_varchar'],
  numeric: ['numeric', 'int8', 'int4', 'int2'],
  integer: ['int4', 'int2'],
  boolean: ['bool'],
  date: ['date', 'timestamptz', 'timestamp'],
  'timestamp with time zone': ['timestamptz', 'timestamp'],
}
