/** Generates the demo data as rows of the platform's tables. */
import type { Day } from './calendar.ts'
import { categoryRows, productCategoryRows, productRows, variantRows } from './catalog.ts'
import { customerRows, withdrawalRows } from './customer.ts'
import { productsAtScaleOne } from './product.ts'
import type { Row } from './row.ts'
import { sellers, tenantRows } from './tenant.ts'
import { voucherRows } from './voucher.ts'
import { referenceOf } from './voucher-code.ts'

/**
 * The tenant of the demo, a group with six venues, and one of its redeemable vouchers. They are the same at any scale.
 */
export const demoTenant = { tenantId: 1, voucherReference: referenceOf(0) }

export { type LiveChange, liveChange } from './live.ts'
export type { Row } from './row.ts'

/** The numbers of products, vouchers and customers. */
interface DemoCounts {
  tenants: number
  products: number
  vouchers: number
  customers: number
}

/**
 * Returns the numbers of products, vouchers and customers at a scale.
 *
 * @param scale a factor; 1 means 150 products, 4,000 vouchers and 800 customers
 */
export const countsAt = (scale: number): DemoCounts => ({
  tenants: sellers.length,
  products: productsAtScaleOne * scale,
  vouchers: 4_000 * scale,
  customers: 800 * scale,
})

/**
 * Returns the rows of each table. A table comes after the tables to which its foreign keys refer.
 *
 * @param today the day of the data
 */
export function rowsByTable({ products, vouchers, customers }: DemoCounts, today: Day): Record<string, Iterable<Row>> {
  return {
    tenant: tenantRows(),
    category: categoryRows(),
    product: productRows(products),
    variant: variantRows(products),
    product_category: productCategoryRows(products),
    purchased_voucher: voucherRows(vouchers, today, products),
    customer: customerRows(customers, today),
    // Each withdrawal has the time at which the consent ended.
    'gateway.consent_withdrawal': withdrawalRows(customers, today),
  }
}
