import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../../src/db/sql.ts'
import { median, quantile } from '../harness/report.ts'
import { type Connections, population } from './databases.ts'
import { measureRate, takeWriteMarker, updateOne } from './workloads.ts'

const calls = 300

/**
 * @returns the median time of reading the watermark while the other connections have a transaction open, and the median
 *   time of an empty statement, in milliseconds
 */
export async function timeWatermark(reader: Pool, writing: Pool[]): Promise<{ watermark: number; empty: number }> {
  for (const [writer, sql] of writing.entries()) {
    await sql`begin`
    await sql`update purchased_voucher set void = not void where id = ${writer + 1}`
  }
  const timed = async (statement: () => Promise<unknown>) => {
    const start = performance.now()
    await statement()
    return performance.now() - start
  }
  const times = { watermark: [] as number[], empty: [] as number[] }
  for (let call = 0; call < calls; call++) {
    times.empty.push(await timed(() => reader`select 1`))
    times.watermark.push(await timed(() => reader`select gateway.watermark()`))
  }
  for (const sql of writing) await sql`rollback`
  return { watermark: median(times.watermark), empty: median(times.empty) }
}

/**
 * Measures the lag of the watermark, in milliseconds, while short writers run and one transaction is held open.
 *
 * @param options.writers how many short writers
 * @param options.rows how many rows the long one changes before it waits
 * @param options.seconds how long it is held open
 */
export async function lagOfWatermark(
  [reader, ...others]: Connections,
  options: { writers: number; rows: number; seconds: number },
): Promise<{ p50: number; p99: number; max: number }> {
  const holder = others.pop()!
  let isOver = false
  const long = async () => {
    await sleep(500)
    await holder.begin(async sql => {
      // The last vouchers: the short writers update others.
      await sql`
        update purchased_voucher set void = not void
        where id > ${population.vouchers - options.rows} and id <= ${population.vouchers}`
      await sleep(options.seconds * 1000)
    })
    await sleep(200)
    isOver = true
  }
  const lags: number[] = []
  const read = async () => {
    while (!isOver) {
      const [row] = await reader<{ lag: number }[]>`
        select extract(epoch from clock_timestamp() - watermark) * 1000 as lag from gateway.watermark() watermark`
      lags.push(row!.lag)
      await sleep(2)
    }
  }
  await Promise.all([long(), read(), measureRate(updateOne, others.slice(0, options.writers), options.seconds + 1)])
  return { p50: median(lags), p99: quantile(lags, 0.99), max: Math.max(...lags) }
}

/** The delay of readers by one transaction of many rows, in milliseconds. */
export interface BulkLag {
  /** The lag of the watermark, from the transaction's start until its rows were below the watermark. */
  p50: number
  max: number
  /** The time of its statements, and of its commit. */
  writing: number
  committing: number
  /** From the end of its commit until its rows were below the watermark. */
  seenAfter: number
}

/**
 * Reads the watermark while another session inserts vouchers of one tenant in one transaction.
 *
 * @param reader one connection, to a database without tenants
 * @param writer another one
 * @param options.rows how many vouchers
 * @param options.marked whether the transaction takes its write marker first
 */
export async function lagBesideBulk(
  reader: Pool,
  writer: Pool,
  options: { rows: number; marked: boolean },
): Promise<BulkLag> {
  await writer`insert into tenant (id, name) values (1, 'Shop')`
  const readings: { at: number; lag: number; watermark: string }[] = []
  let isOver = false
  const read = async () => {
    while (!isOver) {
      const [row] = await reader<{ lag: number; watermark: string }[]>`
        select extract(epoch from clock_timestamp() - watermark) * 1000 as lag, watermark from gateway.watermark() watermark`
      readings.push({ at: performance.now(), ...row! })
      await sleep(2)
    }
  }
  const reading = read()
  const begun = performance.now()
  await writer`begin`
  if (options.marked) await writer.unsafe(`select ${takeWriteMarker}`)
  await writer`
    insert into purchased_voucher
      (tenant_id, reference, initial_balance, current_balance, currency, product_title, product_slug, date_valid_end)
    select 1, 'BULK-' || n, 50, 50, 'GBP', 'A gift', 'a-gift', '2030-01-01' from generate_series(1, ${options.rows}::int) n`
  const written = performance.now()
  await writer`commit`
  const committed = performance.now()
  const [stamp] = await writer<{ newest: string }[]>`select max(updated_at) as newest from purchased_voucher`
  const isSeen = ({ watermark }: { watermark: string }) => watermark > stamp!.newest
  while (!readings.some(isSeen)) await sleep(2)
  isOver = true
  await reading
  const seen = readings.find(isSeen)!.at
  const lags = readings.filter(({ at }) => at >= begun && at <= seen).map(({ lag }) => lag)
  return {
    p50: median(lags),
    max: Math.max(...lags),
    writing: written - begun,
    committing: committed - written,
    seenAfter: Math.max(0, seen - committed),
  }
}
