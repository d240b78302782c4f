import type { Pool, Sql } from '../db/connect.ts'
import type { Day } from './calendar.ts'
import { categoryRows, productCategoryRows, productRows, variantRows } from './catalog.ts'
import { copyRows } from './copy-rows.ts'
import { customerRows } from './customer.ts'
import { productsAtScaleOne } from './product.ts'
import { countTenants, tenantRows } from './tenant.ts'
import { voucherRows } from './voucher.ts'
import { referenceOf } from './voucher-code.ts'

/** The numbers of loaded records. */
interface DemoCounts {
  tenants: number
  products: number
  vouchers: number
  customers: number
}

/** The demo tenant, a group with six venues below it, and a redeemable voucher of its own; the same at any scale. */
export const demoTenant = { tenantId: 1, voucherReference: referenceOf(0) }

const vouchersAtScaleOne = 4_000
const customersAtScaleOne = 800
const largestScale = 99_999
const progressStep = 2_000

/** Returns whether the database has the demo data: whether the demo voucher exists. */
export async function isDemo(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ demo: boolean }[]>`
    select /* demo.is_demo */ exists (
      select from purchased_voucher
      where tenant_id = ${demoTenant.tenantId} and lower(reference) = lower(${demoTenant.voucherReference})) as demo`
  return row?.demo ?? false
}

/** Returns whether the database has no tenant. */
export async function isEmpty(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ empty: boolean }[]>`
    select /* demo.is_empty */ not exists (select from tenant) as empty`
  return row?.empty ?? true
}

/**
 * Fills an empty database with realistic data, in one transaction. The same day (UTC) and scale give the same data. The
 * validity of vouchers is relative to that day.
 *
 * @param options.scale a factor, a whole number from 1 to 99,999; 1 means 150 products, 4,000 vouchers and 800 customers
 * @param options.onProgress called every 2,000 records with the number sent so far and the total
 * @returns the numbers of loaded records
 * @throws RangeError for an invalid scale, Error when a table is not empty, or the database's error
 */
export async function loadDemo(
  sql: Pool,
  options: { scale: number; onProgress?: (done: number, total: number) => void },
): Promise<DemoCounts> {
  const { scale, onProgress } = options
  if (!Number.isInteger(scale) || scale < 1 || scale > largestScale) {
    throw new RangeError(`The scale of the demo data must be a whole number from 1 to ${largestScale}, not ${scale}.`)
  }
  const counts = {
    tenants: countTenants(),
    products: productsAtScaleOne * scale,
    vouchers: vouchersAtScaleOne * scale,
    customers: customersAtScaleOne * scale,
  }
  const total = counts.tenants + counts.products + counts.vouchers + counts.customers
  let done = 0
  const onRow = () => {
    done++
    if (done % progressStep === 0 || done === total) onProgress?.(done, total)
  }
  await sql.begin(async transaction => {
    await transaction`select /* demo.no_timeout */ set_config('statement_timeout', '0', true)`
    await transaction`set /* demo.keep_updated_at */ local gateway.keep_updated_at = 'on'`
    await requireEmpty(transaction)
    await fill(transaction, counts, await findToday(transaction), onRow)
    await moveSequences(transaction)
    await transaction`
      analyze /* demo.analyze */ tenant, category, product, product_category, variant, purchased_voucher, customer`
  })
  return counts
}

async function fill(sql: Sql, { products, vouchers, customers }: DemoCounts, today: Day, onRow: () => void) {
  await copyRows(sql, 'tenant', tenantRows(today), onRow)
  await copyRows(sql, 'category', categoryRows())
  await copyRows(sql, 'product', productRows(products, today), onRow)
  await copyRows(sql, 'variant', variantRows(products, today))
  await copyRows(sql, 'product_category', productCategoryRows(products))
  await copyRows(sql, 'purchased_voucher', voucherRows(vouchers, today, products), onRow)
  await copyRows(sql, 'customer', customerRows(customers, today), onRow)
}

async function requireEmpty(sql: Sql): Promise<void> {
  const [row] = await sql<{ filled: boolean }[]>`
    select /* demo.is_filled */ exists (select from tenant) or exists (select from category) or exists (select from product)
        or exists (select from purchased_voucher) or exists (select from customer) as filled`
  if (row?.filled) throw new Error('Demo data needs an empty database, but this one contains data.')
}

/** Returns today's date by the database's clock, because validity is compared with that clock. */
async function findToday(sql: Sql): Promise<Day> {
  const [row] = await sql<{ today: number }[]>`
    select /* demo.today */ (now() at time zone 'UTC')::date - date '1970-01-01' as today`
  if (!row) throw new Error('The database returned no date.')
  return row.today
}

/** Advances the sequences, because the rows bring ids of their own. */
async function moveSequences(sql: Sql): Promise<void> {
  for (const table of ['tenant', 'category', 'product', 'variant', 'purchased_voucher', 'customer']) {
    await sql`
      select /* demo.move_sequence */ setval(pg_get_serial_sequence(${table}, 'id'), max(id)) from ${sql(table)}`
  }
}
