import type { Pool, Sql } from '../db/connect.ts'
import type { Day } from './calendar.ts'
import { categoryRows, productCategoryRows, productRows, variantRows } from './catalog.ts'
import { copy } from './copy-rows.ts'
import { customerRows } from './customer.ts'
import { productsAtScaleOne } from './product.ts'
import { countTenants, tenantRows } from './tenant.ts'
import { voucherRows } from './voucher.ts'
import { referenceOf } from './voucher-code.ts'

/** How many records of each kind there are. */
export interface DemoCounts {
  tenants: number
  products: number
  vouchers: number
  customers: number
}

/**
 * Two records worth showing, the same at any scale: a group with plenty of everything, six houses below it, and a
 * voucher of its own that is redeemable.
 */
export const demoTenant = { tenantId: 1, voucherReference: referenceOf(0) }

const vouchersAtScaleOne = 4_000
const customersAtScaleOne = 800
const largestScale = 99_999
const progressStep = 2_000

/** @returns whether the demo data are there: the voucher that they show is where they put it */
export async function isDemo(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ demo: boolean }[]>`
    select /* demo.is_demo */ exists (
      select from purchased_voucher
      where tenant_id = ${demoTenant.tenantId} and lower(reference) = lower(${demoTenant.voucherReference})) as demo`
  return row?.demo ?? false
}

/** @returns whether there is no tenant yet */
export async function isEmpty(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ empty: boolean }[]>`
    select /* demo.is_empty */ not exists (select from tenant) as empty`
  return row?.empty ?? true
}

/**
 * Fills an empty database with lifelike data, all of it or none. The same day (UTC) and scale give the same data;
 * vouchers are valid, expired and so on as seen from the day of loading.
 *
 * @param options.scale a whole number from 1 to 99,999, by which products, vouchers and customers are multiplied;
 *   1 is 150 products, 4,000 vouchers and 800 customers
 * @param options.onProgress told now and then how many records of how many have been handed to the database
 * @returns how many records there are now
 * @throws RangeError for any other scale; Error when a table is not empty; the database's error when it refuses
 */
export async function loadDemo(
  sql: Pool,
  options: { scale: number; onProgress?: (done: number, total: number) => void },
): Promise<DemoCounts> {
  const { scale, onProgress } = options
  if (!Number.isInteger(scale) || scale < 1 || scale > largestScale) {
    throw new RangeError(`The scale of the demo data is a whole number from 1 to ${largestScale}, not ${scale}.`)
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
    await transaction`select /* demo.patience */ set_config('statement_timeout', '0', true)`
    await transaction`set /* demo.keep_updated_at */ local gateway.keep_updated_at = 'on'`
    await refuseIfFilled(transaction)
    await fill(transaction, counts, await findToday(transaction), onRow)
    await moveSequences(transaction)
    await transaction`
      analyze /* demo.analyze */ tenant, category, product, product_category, variant, purchased_voucher, customer`
  })
  return counts
}

async function fill(sql: Sql, { products, vouchers, customers }: DemoCounts, today: Day, onRow: () => void) {
  await copy(sql, 'tenant', tenantRows(today), onRow)
  await copy(sql, 'category', categoryRows())
  await copy(sql, 'product', productRows(products, today), onRow)
  await copy(sql, 'variant', variantRows(products, today))
  await copy(sql, 'product_category', productCategoryRows(products))
  await copy(sql, 'purchased_voucher', voucherRows(vouchers, today, products), onRow)
  await copy(sql, 'customer', customerRows(customers, today), onRow)
}

async function refuseIfFilled(sql: Sql): Promise<void> {
  const [row] = await sql<{ filled: boolean }[]>`
    select /* demo.is_filled */ exists (select from tenant) or exists (select from category) or exists (select from product)
        or exists (select from purchased_voucher) or exists (select from customer) as filled`
  if (row?.filled) throw new Error('Demo data goes into an empty database only, and this one already holds data.')
}

/** By the database's clock, as everything that compares with it is. */
async function findToday(sql: Sql): Promise<Day> {
  const [row] = await sql<{ today: number }[]>`
    select /* demo.today */ (now() at time zone 'UTC')::date - date '1970-01-01' as today`
  if (!row) throw new Error('The database did not tell its date.')
  return row.today
}

/** What is added later takes ids after those that were brought along. */
async function moveSequences(sql: Sql): Promise<void> {
  for (const table of ['tenant', 'category', 'product', 'variant', 'purchased_voucher', 'customer']) {
    await sql`
      select /* demo.move_sequence */ setval(pg_get_serial_sequence(${table}, 'id'), max(id)) from ${sql(table)}`
  }
}
