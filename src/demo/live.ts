/** Writes to the tables of the demo in place of a platform, for `serve --live`. */
import { setTimeout as sleep } from 'node:timers/promises'
import { countsAt, type LiveChange, liveChange } from '#demo'
import { copyRows } from '../db/row/copy.ts'
import type { Pool, Sql } from '../db/sql.ts'

const retryMs = 5_000

/** Begins to write. Prints an error of the database, and continues. @returns a function that ends the writing */
export function startLiveDemo(sql: Pool): () => void {
  const ending = new AbortController()
  void write(sql, ending.signal)
  return () => ending.abort()
}

async function write(sql: Pool, signal: AbortSignal): Promise<void> {
  const { customers } = countsAt(1)
  let number: number | null = null
  while (!signal.aborted) {
    try {
      number ??= await findFreeRow(sql)
      const { change, waitMs } = liveChange(number++, Date.now() * 1000, customers)
      await sleep(waitMs, undefined, { signal })
      await apply(sql, change)
    } catch (error) {
      if (signal.aborted) return
      console.error(`The live demo cannot write: ${error instanceof Error ? error.message : error}`)
      await sleep(retryMs, undefined, { signal }).catch(() => {})
    }
  }
}

/**
 * Returns the number of the next row for a voucher. Ignores ids of more than 32 bits, which some of the loaded vouchers
 * have.
 */
async function findFreeRow(sql: Sql): Promise<number> {
  const [row] = await sql<[{ last: number }]>`
    select /* demo.find_free_row */ coalesce(max(id), 1) as last from public.purchased_voucher where id < 4294967296`
  return row.last
}

async function apply(sql: Pool, change: LiveChange): Promise<void> {
  switch (change.kind) {
    case 'sale':
      return copyRows(sql, 'public.purchased_voucher', [change.voucher])
    case 'redemption':
      await sql`
        update /* demo.redeem */ public.purchased_voucher voucher
        set current_balance = rest, redemption_status = case when rest = 0 then 'redeemed' else 'part_redeemed' end
        from (
          select id, case when allow_part_redeem then trunc(current_balance * ${change.rest}::numeric) else 0 end as rest
          from public.purchased_voucher
          where id >= ${change.from} and current_balance > 0 and not void
            and current_date between coalesce(date_valid_start, current_date) and coalesce(date_valid_end, current_date)
          order by id limit 1 for update) found
        where voucher.id = found.id`
      return
    case 'void':
      await sql`
        update /* demo.void */ public.purchased_voucher
        set void = true, void_reason = ${change.reason}, void_date = now()
        where id = (select id from public.purchased_voucher
                    where id >= ${change.from} and redemption_status = 'unredeemed' and not void order by id limit 1)`
      return
    case 'consent':
      await sql`
        update /* demo.consent */ public.customer
        set marketing_opted = ${change.isGiven}, consent_source = 'newsletter_form',
            consented_at = case when ${change.isGiven} then now() else consented_at end
        where id = (select id from public.customer
                    where id >= ${change.from} and marketing_opted <> ${change.isGiven} order by id limit 1)`
  }
}
