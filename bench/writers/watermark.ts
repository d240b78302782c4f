import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../src/db/connect.ts'
import { population } from './contenders.ts'
import { median, quantile } from './summary.ts'
import { measure, type Workload } from './workloads.ts'

const calls = 300

/**
 * @returns the median time of the watermark's look-up while all the others have a transaction open, and that of the
 *   emptiest statement beside it, in milliseconds
 */
export async function timeWatermark(reader: Pool, writing: Pool[]): Promise<{ watermark: number; nothing: number }> {
  for (const [writer, sql] of writing.entries()) {
    await sql`begin`
    await sql`update purchased_voucher set void = not void where id = ${writer + 1}`
  }
  const timed = async (statement: () => Promise<unknown>) => {
    const start = performance.now()
    await statement()
    return performance.now() - start
  }
  const times = { watermark: [] as number[], nothing: [] as number[] }
  for (let call = 0; call < calls; call++) {
    times.nothing.push(await timed(() => reader`select 1`))
    times.watermark.push(await timed(() => reader`select gateway.watermark()`))
  }
  for (const sql of writing) await sql`rollback`
  return { watermark: median(times.watermark), nothing: median(times.nothing) }
}

/**
 * How far the watermark is behind the clock, in milliseconds, while short writers run and one transaction is held open.
 *
 * @param options.short what the short writers do
 * @param options.rows how many rows the long one changes before it waits
 * @param options.seconds how long it is held open
 */
export async function lagOfWatermark(
  [reader, holder, ...others]: [Pool, Pool, ...Pool[]],
  options: { short: Workload; rows: number; seconds: number },
): Promise<{ p50: number; p99: number; max: number }> {
  let isOver = false
  const long = async () => {
    await sleep(500)
    await holder.begin(async sql => {
      // The last ones: the short writers have theirs to themselves.
      await sql`
        update purchased_voucher set void = not void
        where id > ${population.vouchers - options.rows} and id <= ${population.vouchers}`
      await sleep(options.seconds * 1000)
    })
    await sleep(200)
    isOver = true
  }
  const lags: number[] = []
  const look = async () => {
    while (!isOver) {
      const [row] = await reader<{ lag: number }[]>`
        select extract(epoch from clock_timestamp() - watermark) * 1000 as lag from gateway.watermark() watermark`
      lags.push(row!.lag)
      await sleep(2)
    }
  }
  await Promise.all([long(), look(), measure(options.short, others, { seconds: options.seconds + 1 })])
  return { p50: median(lags), p99: quantile(lags, 0.99), max: Math.max(...lags) }
}

/** What readers notice of one transaction of many rows, in milliseconds. */
export interface BulkLag {
  /** How far the watermark was behind the clock, from the transaction's start until its rows were below the watermark. */
  p50: number
  max: number
  /** How long its statements took, and its commit. */
  writing: number
  committing: number
  /** From the end of its commit until its rows were below the watermark. */
  seenAfter: number
}

/**
 * Looks at the watermark while another session inserts vouchers of one tenant in one transaction.
 *
 * @param reader one connection, to a database without tenants
 * @param writer another one
 * @param options.rows how many vouchers
 * @param options.holds whether the transaction begins with `gateway.announce_bulk_write()`
 */
export async function lagBesideBulk(
  reader: Pool,
  writer: Pool,
  options: { rows: number; holds: boolean },
): Promise<BulkLag> {
  await writer`insert into tenant (id, name) values (1, 'Shop')`
  const looks: { at: number; lag: number; watermark: string }[] = []
  let isOver = false
  const look = async () => {
    while (!isOver) {
      const [row] = await reader<{ lag: number; watermark: string }[]>`
        select extract(epoch from clock_timestamp() - watermark) * 1000 as lag, watermark from gateway.watermark() watermark`
      looks.push({ at: performance.now(), ...row! })
      await sleep(2)
    }
  }
  const looking = look()
  const begun = performance.now()
  await writer`begin`
  if (options.holds) await writer`select gateway.announce_bulk_write()`
  await writer`
    insert into purchased_voucher
      (tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
    select 1, 'BULK-' || n, 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01' from generate_series(1, ${options.rows}::int) n`
  const written = performance.now()
  await writer`commit`
  const committed = performance.now()
  const [stamp] = await writer<{ newest: string }[]>`select max(updated_at) as newest from purchased_voucher`
  const isSeen = ({ watermark }: { watermark: string }) => watermark > stamp!.newest
  while (!looks.some(isSeen)) await sleep(2)
  isOver = true
  await looking
  const seen = looks.find(isSeen)!.at
  const lags = looks.filter(({ at }) => at >= begun && at <= seen).map(({ lag }) => lag)
  return {
    p50: median(lags),
    max: Math.max(...lags),
    writing: written - begun,
    committing: committed - written,
    seenAfter: Math.max(0, seen - committed),
  }
}
