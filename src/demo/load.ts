import { countsAt, demoTenant, rowsByTable } from '#demo'
import { requirePlainTables } from '../db/mapping/mappings.ts'
import { copyRows } from '../db/row/copy.ts'
import type { Pool, Sql } from '../db/sql.ts'

const progressStep = 2_000

/** The tables whose rows are counted for the progress. */
const countedTables = new Set(['tenant', 'product', 'purchased_voucher', 'customer'])

/** Returns whether the database has the demo data. The demo voucher is the sign. */
export async function hasDemoData(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ demo: boolean }[]>`
    select /* demo.is_demo */ exists (
      select from public.purchased_voucher
      where tenant_id = ${demoTenant.tenantId} and reference = ${demoTenant.voucherReference}) as demo`
  return row?.demo ?? false
}

/** Returns whether the database has no tenant. Then it has no other record of the platform either. */
export async function isEmpty(sql: Sql): Promise<boolean> {
  const [row] = await sql<{ empty: boolean }[]>`
    select /* demo.is_empty */ not exists (select from public.tenant) as empty`
  return row?.empty ?? true
}

/**
 * Fills an empty database with realistic data, in one transaction. The same day (UTC) and scale give the same data. The
 * validity of vouchers is relative to that day.
 *
 * @param options.scale a factor, a whole number from 1 to 99,999; 1 means 150 products, 4,000 vouchers and 800
 *   customers
 * @param options.today the day to which the dates of the data are relative, in days since 1970-01-01; default: the
 *   present day of the database
 * @param options.onProgress called every 2,000 records with the number sent so far and the total
 * @returns the numbers of loaded records
 * @throws Error when the database is not empty or has a mapping to other tables; the errors of the database
 */
export async function loadDemo(
  sql: Pool,
  {
    scale,
    today: day,
    onProgress,
  }: { scale: number; today?: number; onProgress?: (done: number, total: number) => void },
) {
  const counts = countsAt(scale)
  const total = Object.values(counts).reduce((sum, count) => sum + count, 0)
  let done = 0
  const onRow = () => {
    done++
    if (done % progressStep === 0 || done === total) onProgress?.(done, total)
  }
  await sql.begin(async transaction => {
    await transaction`select /* demo.no_timeout */ set_config('statement_timeout', '0', true)`
    await requirePlainTables(transaction)
    if (!(await isEmpty(transaction))) throw new Error('Demo data needs an empty database, but this one contains data.')
    // The day comes from the clock of the database, because the database compares validity with it.
    const [date] = await transaction<{ today: number }[]>`
      select /* demo.today */ (now() at time zone 'UTC')::date - date '1970-01-01' as today`
    for (const [table, rows] of Object.entries(rowsByTable(counts, day ?? date!.today))) {
      const named = table.includes('.') ? table : `public.${table}`
      await copyRows(transaction, named, rows, countedTables.has(table) ? onRow : undefined)
    }
    await moveSequences(transaction)
    await transaction`
      analyze /* demo.analyze */ public.tenant, public.category, public.product, public.product_category, public.variant,
        public.purchased_voucher, public.customer`
  })
  return counts
}

/** Advances the sequences, because the rows were inserted with explicit ids. */
async function moveSequences(sql: Sql): Promise<void> {
  for (const name of ['tenant', 'category', 'product', 'variant', 'purchased_voucher', 'customer']) {
    const table = `public.${name}`
    await sql`
      select /* demo.move_sequence */ setval(pg_get_serial_sequence(${table}, 'id'), max(id)) from ${sql(table)}`
  }
}
