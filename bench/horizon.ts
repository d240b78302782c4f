import { setTimeout as sleep } from 'node:timers/promises'
import type { Pool } from '../src/db/connect.ts'
import { population } from './contenders.ts'
import { median, quantile } from './summary.ts'
import { measure, type Workload } from './workloads.ts'

const calls = 300

/**
 * @returns the median time of the horizon's look-up while all the others have a transaction open, and that of the
 *   emptiest statement beside it, in milliseconds
 */
export async function timeHorizon(reader: Pool, writing: Pool[]): Promise<{ horizon: number; nothing: number }> {
  for (const [writer, sql] of writing.entries()) {
    await sql`begin`
    await sql`update purchased_voucher set void = not void where id = ${writer + 1}`
  }
  const timed = async (statement: () => Promise<unknown>) => {
    const start = performance.now()
    await statement()
    return performance.now() - start
  }
  const times = { horizon: [] as number[], nothing: [] as number[] }
  for (let call = 0; call < calls; call++) {
    times.nothing.push(await timed(() => reader`select 1`))
    times.horizon.push(await timed(() => reader`select gateway.horizon()`))
  }
  for (const sql of writing) await sql`rollback`
  return { horizon: median(times.horizon), nothing: median(times.nothing) }
}

/**
 * How far the horizon is behind the clock, in milliseconds, while short writers run and one transaction is held open.
 *
 * @param options.short what the short writers do
 * @param options.rows how many rows the long one changes before it waits
 * @param options.seconds how long it is held open
 */
export async function lagOfHorizon(
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
        select extract(epoch from clock_timestamp() - horizon) * 1000 as lag from gateway.horizon() horizon`
      lags.push(row!.lag)
      await sleep(2)
    }
  }
  await Promise.all([long(), look(), measure(options.short, others, { seconds: options.seconds + 1 })])
  return { p50: median(lags), p99: quantile(lags, 0.99), max: Math.max(...lags) }
}
