/**
 * The schema of mercurius: the part of the service's schema that the benchmark asks for, with the same names, so that
 * the same documents can be sent. Like L1 it leaves out the rate, permissions, the tree of tenants and the watermark.
 */
import { type Place, readStart, writeCursor } from './cursor.ts'
import type { Pool } from './database.ts'
import { contenderTypes } from './types.ts'

export const typeDefs = /* GraphQL */ `
  scalar BigInt
  scalar Date
  scalar DateTime
  scalar Money

  type Query {
    tenant(id: ID!): Tenant
  }

  type Tenant {
    databaseId: BigInt!
    purchasedVouchers(after: String, updatedSince: DateTime): PurchasedVoucherConnection
    purchasedVoucher(id: ID!): PurchasedVoucher
    catalogVouchers(after: String, updatedSince: DateTime): CatalogVoucherConnection
  }

  type PurchasedVoucherConnection {
    nodes: [PurchasedVoucher!]!
    nextCursor: String
    serverTime: DateTime!
  }

  type CatalogVoucherConnection {
    nodes: [CatalogVoucher!]!
    nextCursor: String
    serverTime: DateTime!
  }

  ${contenderTypes}
`

const pageSize = 50

interface Tenant {
  databaseId: number
}

/** The columns of a row that are read here; the others are passed on. */
interface Listed {
  databaseId: number
  updatedAt: string
}

interface PageArguments {
  after?: string | null
  updatedSince?: string | null
}

/** A row that belongs to a product. */
interface OfProduct {
  productId: number
}

function toConnection(rows: Listed[]) {
  const nodes = rows.slice(0, pageSize)
  const last = rows.length > pageSize ? nodes.at(-1) : undefined
  return {
    nodes,
    nextCursor: last ? writeCursor({ updatedAt: last.updatedAt, id: last.databaseId }) : null,
    serverTime: new Date().toISOString(),
  }
}

/** @returns resolvers of pages and records */
export function createResolvers(sql: Pool) {
  const voucherColumns = sql`
    id as "databaseId", reference, initial_balance as "initialBalance", current_balance as "currentBalance",
    purchase_value as "purchaseValue", currency, is_monetary as "isMonetary", allow_part_redeem as "allowPartRedeem",
    void, order_id as "orderId", order_item_id as "orderItemId", product_id as "productId",
    product_title as "productTitle", product_slug as "productSlug", parent_product_id as "parentProductId",
    parent_product_title as "parentProductTitle", purchase_timestamp as "purchaseTimestamp",
    date_issued as "dateIssued", date_valid_start as "dateValidStart", date_valid_end as "dateValidEnd",
    date_scheduled as "dateScheduled", redemption_status as "redemptionStatus", void_reason as "voidReason",
    void_date as "voidDate", created_at as "createdAt", updated_at as "updatedAt"`
  const listVouchers = (tenant: number, { updatedAt, id }: Place) => sql<Listed[]>`
    select ${voucherColumns} from purchased_voucher
    where tenant_id = ${tenant} and (updated_at, id) > (${updatedAt}::text::timestamptz, ${id}::bigint)
    order by updated_at, id limit ${pageSize + 1}`
  const listProducts = (tenant: number, { updatedAt, id }: Place) => sql<Listed[]>`
    select id as "databaseId", slug, title, summary, description_html as "descriptionHtml", currency, price,
           sale_price as "salePrice", (select min(price) from variant where product_id = product.id) as "fromPrice",
           (select min(sale_price) from variant where product_id = product.id) as "fromSalePrice",
           monetary_value as "monetaryValue", is_monetary as "isMonetary", allow_part_redeem as "allowPartRedeem",
           validity_type as "validityType", validity_months as "validityMonths", redemption_info as "redemptionInfo",
           sort_order as "sortOrder", image_url as "imageUrl", array_to_json(image_urls) as "imageUrls",
           updated_at as "updatedAt"
    from product
    where tenant_id = ${tenant}
      and (coalesce(updated_at, '-infinity'), id) > (${updatedAt}::text::timestamptz, ${id}::bigint)
    order by coalesce(updated_at, '-infinity'), id limit ${pageSize + 1}`
  return {
    Query: { tenant: (_: unknown, { id }: { id: string }): Tenant => ({ databaseId: Number(id) }) },
    Tenant: {
      purchasedVouchers: async ({ databaseId }: Tenant, { after, updatedSince }: PageArguments) =>
        toConnection(await listVouchers(databaseId, readStart(after, updatedSince))),
      purchasedVoucher: async ({ databaseId }: Tenant, { id }: { id: string }) => {
        const [row] = await sql<Listed[]>`
          select ${voucherColumns} from purchased_voucher where tenant_id = ${databaseId} and id = ${Number(id)}`
        return row ?? null
      },
      catalogVouchers: async ({ databaseId }: Tenant, { after, updatedSince }: PageArguments) =>
        toConnection(await listProducts(databaseId, readStart(after, updatedSince))),
    },
  }
}

/** @returns batch functions: for each product its categories, and its variants */
export function createBatches(sql: Pool) {
  const group = <Row extends OfProduct>(ids: readonly number[], rows: readonly Row[]): Row[][] => {
    const groups = new Map<number, Row[]>(ids.map(id => [id, []]))
    for (const row of rows) groups.get(row.productId)?.push(row)
    return ids.map(id => groups.get(id) ?? [])
  }
  return {
    categories: async (ids: readonly number[]) =>
      group(
        ids,
        await sql<OfProduct[]>`
          select product_id as "productId", id as "databaseId", slug, title, sort_order as "sortOrder"
          from product_category join category on category.id = category_id
          where product_id = any(${`{${ids.join(',')}}`}::text::bigint[]) order by sort_order, id`,
      ),
    variants: async (ids: readonly number[]) =>
      group(
        ids,
        await sql<OfProduct[]>`
          select product_id as "productId", id as "databaseId", slug, title, price, sale_price as "salePrice",
                 currency, is_monetary as "isMonetary", sort_order as "sortOrder", updated_at as "updatedAt"
          from variant where product_id = any(${`{${ids.join(',')}}`}::text::bigint[]) order by sort_order, id`,
      ),
  }
}
