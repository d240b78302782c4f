import { setTimeout as pause } from 'node:timers/promises'
import { createMark } from './changes.ts'
import type { Ask, SyncPage } from './lists.ts'
import { type Address, type KnownIds, open } from './seed.ts'

/** The time by which `server_time` is behind the clock, in milliseconds. */
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
 * Measures how far the watermark, which is the `server_time`, is behind the clock, until `stop` is aborted. One statement
 * reads both, the clock after the watermark, so delays of a loaded machine in between count as lag.
 */
export async function watchLag(address: Address, stop: AbortSignal): Promise<Lag> {
  const sql = open(address)
  const lags: number[] = []
  while (!stop.aborted) {
    const [row] = await sql<{ lag: number }[]>`
      select extract(epoch from clock_timestamp() - watermark)::float8 * 1000 as lag from gateway.watermark() as watermark`
    if (row) lags.push(row.lag)
    await pause(10)
  }
  await sql.end()
  return summarise(lags)
}

/** Writes short transactions on vouchers of some tenants until `stop` is aborted. */
async function writeBeside(address: Address, knownIds: KnownIds, writer: number, stop: AbortSignal): Promise<void> {
  const sql = open(address)
  for (let time = 0; !stop.aborted; time += 1) {
    const id = knownIds.vouchers[(writer * 97 + time) % knownIds.vouchers.length] ?? 0
    await sql`update purchased_voucher set product_title = ${createMark('ordinary')} where id = ${id}`
    await pause(5)
  }
  await sql.end()
}

/** Measures the lag while one writer holds a transaction open and others write short ones. */
export async function lagBesideLongWriter(address: Address, knownIds: KnownIds, seconds: number): Promise<Lag> {
  const done = new AbortController()
  const hold = async () => {
    const sql = open(address)
    await sql.begin(async transaction => {
      await transaction`update tenant set name = name || '.' where id = ${knownIds.root}`
      await transaction`
        insert into purchased_voucher (tenant_id, reference) values (${knownIds.owners[0] ?? 0}, ${`held ${Date.now()}`})`
      await pause(seconds * 1000)
    })
    await sql.end()
    // The commit is part of the measurement.
    await pause(100)
    done.abort()
  }
  const beside = [0, 1, 2].map(writer => writeBeside(address, knownIds, writer, done.signal))
  const [lag] = await Promise.all([watchLag(address, done.signal), hold(), ...beside])
  return lag
}

/** The delays of other lists and of its own rows by a bulk load. Times are in milliseconds. */
export interface BulkLag {
  rows: number
  /** The lag of the watermark, from before the load until its rows were listed. */
  watermark: Lag
  /** The lag of the `server_time` in pages of another tenant, when they arrive. */
  pages: Lag
  /** The times that the load took to write its rows, and to commit. */
  writing: number
  committing: number
  /** The time after the commit until its rows were listed. */
  listing: number
}

/** A bulk load: its tenant, its size, and how pages of this tenant and of another one are read. */
export interface BulkLoad {
  tenant: number
  rows: number
  bulk: Ask
  other: Ask
}

/** Measures the lag while one transaction writes many vouchers of one tenant and ten writers write short ones. */
export async function lagBesideBulk(address: Address, knownIds: KnownIds, load: BulkLoad): Promise<BulkLag> {
  const done = new AbortController()
  const times = { start: 0, written: 0, committed: 0, listed: 0 }
  const bringIn = async () => {
    const sql = open(address)
    // The other writers have begun.
    await pause(500)
    times.start = performance.now()
    await sql.begin(async transaction => {
      await transaction`
        insert into purchased_voucher (tenant_id, reference, product_title)
        select ${load.tenant}::bigint, 'bulk-' || n, 'bulk' from generate_series(1, ${load.rows}::int) n`
      times.written = performance.now()
    })
    times.committed = performance.now()
    await sql.end()
    while ((await load.bulk(null, null)).records.length === 0) await pause(2)
    times.listed = performance.now()
    await pause(100)
    done.abort()
  }
  const readPages = async () => {
    const lags: number[] = []
    let since: string | null = null
    while (!done.signal.aborted) {
      const { serverTime }: SyncPage = await load.other(since, null)
      lags.push(Date.now() - Date.parse(serverTime))
      since = serverTime
      await pause(10)
    }
    return summarise(lags)
  }
  const beside = Array.from({ length: 10 }, (_, writer) => writeBeside(address, knownIds, writer, done.signal))
  const [watermark, pages] = await Promise.all([watchLag(address, done.signal), readPages(), bringIn(), ...beside])
  return {
    rows: load.rows,
    watermark,
    pages,
    writing: times.written - times.start,
    committing: times.committed - times.written,
    listing: times.listed - times.committed,
  }
}
