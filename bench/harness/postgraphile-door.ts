import type { Operation, Sample } from './calls.ts'
import { type Answer, type Asked, type Door, dataOf } from './doors.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
type Fields = Record<string, Json>

const voucherFields = `
  rowId reference initialBalance currentBalance purchaseValue currency isMonetary allowPartRedeem void orderId
  orderItemId productId productTitle productSlug parentProductId parentProductTitle purchaseTimestamp dateIssued
  dateValidStart dateValidEnd dateScheduled redemptionStatus voidReason voidDate createdAt updatedAt`

const productFields = `
  rowId slug title summary descriptionHtml currency price salePrice monetaryValue isMonetary allowPartRedeem
  validityType validityMonths redemptionInfo sortOrder imageUrl imageUrls updatedAt
  productCategoriesByProductId { nodes { categoryByCategoryId { rowId slug title sortOrder } } }
  variantsByProductId { nodes { rowId slug title price salePrice currency isMonetary sortOrder updatedAt } }`

const list = (name: string, fields: string) => `
  query ($tenant: BigInt!, $after: Cursor) {
    page: ${name}(
      condition: { tenantId: $tenant }, orderBy: [UPDATED_AT_ASC, ROW_ID_ASC], first: 50, after: $after
    ) { nodes { ${fields} } pageInfo { hasNextPage endCursor } }
  }`

const lists = { vouchers: 'allPurchasedVouchers', products: 'allProducts' }

const queries: Partial<Record<Operation, string>> = {
  vouchers: list(lists.vouchers, voucherFields),
  products: list(lists.products, productFields),
  voucher: `query ($id: BigInt!) { one: purchasedVoucherByRowId(rowId: $id) { ${voucherFields} } }`,
}

/** The cursor of one record: it is the same whichever list of the same order shows it. */
const cursorQuery = (name: string) => `
  query ($id: BigInt!) {
    page: ${name}(condition: { rowId: $id }, orderBy: [UPDATED_AT_ASC, ROW_ID_ASC]) { edges { cursor } }
  }`

const number = (value: Json | undefined) => (value === null || value === undefined ? null : Number(value))

/** `2026-01-02T03:04:05.12+00:00` as v1 writes it. */
function instant(value: Json | undefined): string | null {
  if (typeof value !== 'string') return null
  const [, seconds = '', fraction = ''] = /^(.{19})(?:\.(\d+))?\+00:00$/.exec(value) ?? []
  return `${seconds}.${fraction.padEnd(6, '0')}Z`
}

const withoutNulls = (record: Fields): Fields =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== null))

const voucher = (row: Fields): Fields =>
  withoutNulls({
    id: number(row.rowId),
    reference: row.reference!,
    initial_balance: number(row.initialBalance),
    current_balance: number(row.currentBalance),
    purchase_value: number(row.purchaseValue),
    currency: row.currency!,
    is_monetary: row.isMonetary!,
    allow_part_redeem: row.allowPartRedeem!,
    void: row.void!,
    order_id: number(row.orderId),
    order_item_id: number(row.orderItemId),
    product_id: number(row.productId),
    product_title: row.productTitle!,
    product_slug: row.productSlug!,
    parent_product_id: number(row.parentProductId),
    parent_product_title: row.parentProductTitle!,
    purchase_timestamp: instant(row.purchaseTimestamp),
    date_issued: instant(row.dateIssued),
    date_valid_start: row.dateValidStart!,
    date_valid_end: row.dateValidEnd!,
    date_scheduled: instant(row.dateScheduled),
    redemption_status: row.redemptionStatus!,
    void_reason: row.voidReason!,
    void_date: instant(row.voidDate),
    created_at: instant(row.createdAt),
    updated_at: instant(row.updatedAt),
  })

const inOrder = (rows: Fields[]) =>
  rows.sort((one, other) => Number(one.sort_order) - Number(other.sort_order) || Number(one.id) - Number(other.id))

const nodesOf = (connection: Json | undefined) => (connection as { nodes: Fields[] }).nodes

const least = (values: Json[]) => {
  const known = values.filter(value => value !== null).map(Number)
  return known.length > 0 ? Math.min(...known) : null
}

function product(row: Fields): Fields {
  const categories = nodesOf(row.productCategoriesByProductId)
    .map(node => node.categoryByCategoryId as Fields)
    .map(({ rowId, slug, title, sortOrder }) => ({
      id: number(rowId),
      slug: slug!,
      title: title!,
      sort_order: sortOrder!,
    }))
  const variants = nodesOf(row.variantsByProductId).map(node => ({
    id: number(node.rowId),
    slug: node.slug!,
    title: node.title!,
    price: number(node.price),
    sale_price: number(node.salePrice),
    currency: node.currency!,
    is_monetary: node.isMonetary!,
    sort_order: node.sortOrder!,
    updated_at: instant(node.updatedAt),
  }))
  return {
    id: number(row.rowId),
    slug: row.slug!,
    title: row.title!,
    summary: row.summary!,
    description_html: row.descriptionHtml!,
    currency: row.currency!,
    price: number(row.price),
    sale_price: number(row.salePrice),
    from_price: least(variants.map(({ price }) => price)),
    from_sale_price: least(variants.map(({ sale_price }) => sale_price)),
    monetary_value: number(row.monetaryValue),
    is_monetary: row.isMonetary!,
    allow_part_redeem: row.allowPartRedeem!,
    ...(row.validityType === null ? {} : { validity_type: row.validityType! }),
    validity_months: row.validityMonths!,
    redemption_info: row.redemptionInfo!,
    sort_order: row.sortOrder!,
    image_url: row.imageUrl!,
    image_urls: row.imageUrls!,
    category_refs: inOrder(categories),
    variant_summaries: inOrder(variants),
    updated_at: instant(row.updatedAt),
  }
}

/**
 * PostGraphile's own schema. What v1 shows and it does not (the order of categories and variants, the lowest prices,
 * numbers as numbers) is added here, so its answers cost it a little less.
 */
export function postgraphileDoor(secret: string): Door {
  const request = (query: string | undefined, variables: object): Asked => ({
    method: 'POST',
    path: '/graphql',
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${secret}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ query, variables }),
  })

  const cursorOf = async (operation: 'vouchers' | 'products', id: number, origin: string): Promise<string> => {
    const { path, ...init } = request(cursorQuery(lists[operation]), { id: String(id) })
    const response = await fetch(new URL(path, origin), init)
    const data = dataOf(await response.json()) as { page: { edges: { cursor: string }[] } }
    return data.page.edges[0]!.cursor
  }

  return {
    async ask(operation, { tenant, id, after }: Sample, origin) {
      if (operation !== 'vouchers' && operation !== 'products') return request(queries[operation], { id: String(id) })
      const cursor = after ? await cursorOf(operation, after.id, origin) : null
      return request(queries[operation], { tenant: String(tenant), after: cursor })
    },
    read(operation, body): Answer {
      const data = dataOf(body) as { one: Fields; page: { nodes: Fields[]; pageInfo: { hasNextPage: boolean } } }
      if (operation === 'voucher') return { data: voucher(data.one), more: false }
      const show = operation === 'vouchers' ? voucher : product
      return { data: data.page.nodes.map(show), more: data.page.pageInfo.hasNextPage }
    },
  }
}
