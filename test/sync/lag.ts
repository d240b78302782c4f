import { setTimeout as pause } from 'node:timers/promises'
import { type Address, type Ground, open } from './ground.ts'

/** By how much `server_time` is behind the clock, in milliseconds. */
export interface Lag {
  p50: number
  max: number
  count: number
}

function summarise(lags: number[]): Lag {
  const sorted = lags.toSorted((a, b) => a - b)
  return { p50: sorted[Math.floor(sorted.length / 2)] ?? 0, max: sorted.at(-1) ?? 0, count: sorted.length }
}

/**
 * Watches how far the horizon, which is the `server_time`, is behind the clock, until it is told to stop. Both are
 * read in one statement, the clock after the horizon: what a machine under load takes in between counts as lag.
 */
export async function watchLag(address: Address, stop: AbortSignal): Promise<Lag> {
  const sql = open(address)
  const lags: number[] = []
  while (!stop.aborted) {
    const [row] = await sql<{ lag: number }[]>`
      select extract(epoch from clock_timestamp() - horizon)::float8 * 1000 as lag from gateway.horizon() as horizon`
    if (row) lags.push(row.lag)
    await pause(10)
  }
  await sql.end()
  return summarise(lags)
}

/** The lag while one writer holds a transaction open, and others write short ones beside it. */
export async function lagBesideLongWriter(address: Address, ground: Ground, seconds: number): Promise<Lag> {
  const done = new AbortController()
  const beside = async (writer: number) => {
    const sql = open(address)
    for (let time = 0; !done.signal.aborted; time += 1) {
      const id = ground.vouchers[(writer * 97 + time) % ground.vouchers.length] ?? 0
      await sql`update purchased_voucher set product_title = ${`beside ${writer} ${time}`} where id = ${id}`
      await pause(5)
    }
    await sql.end()
  }
  const hold = async () => {
    const sql = open(address)
    await sql.begin(async transaction => {
      await transaction`update tenant set name = name || '.' where id = ${ground.root}`
      await transaction`
        insert into purchased_voucher (tenant_id, reference) values (${ground.owners[0] ?? 0}, ${`held ${Date.now()}`})`
      await pause(seconds * 1000)
    })
    await sql.end()
    // The commit is part of what is watched.
    await pause(100)
    done.abort()
  }
  const [lag] = await Promise.all([watchLag(address, done.signal), hold(), beside(0), beside(1), beside(2)])
  return lag
}
