import { randomInt } from 'node:crypto'
import type { Sql } from '../../db/sql.ts'
import { GatewayError } from '../errors.ts'
import { secondsLeft } from '../rate/rate.ts'
import { createAttemptCounter } from '../rate/table.ts'

/** The length of the window in which starts of exports are counted, in seconds. */
const startWindow = 3600

/** The time after which a lease ends without a renewal, in seconds, because its instance may have been killed. */
const leaseSeconds = 10

/** The lease of a running export. The export may run as long as it renews the lease. */
export interface ExportLease {
  /** Renews the lease, unless it was released. @returns false when another export has the lease */
  renew(): Promise<boolean>
  /** Releases the lease, so that the token's next export can begin. */
  release(): Promise<void>
}

/**
 * Limits the bulk exports of each token, for all instances. The counts are in the database, which is cheap because
 * exports are rare.
 *
 * @param startsPerHour the maximum number of exports that a token may start in a window of one hour
 */
export function createExportLimits(sql: Sql, startsPerHour: number) {
  const starts = createAttemptCounter(sql, 'export start', startsPerHour, startWindow)
  return {
    /**
     * Starts an export.
     *
     * @throws `RATE_LIMITED` when another export of the token is running, or when the token has started too many
     * exports in the window
     */
    async start(tokenId: number): Promise<ExportLease> {
      const key = `export stream ${tokenId}`
      const lease = randomInt(2 ** 47)
      let isReleased = false
      let renewal = Promise.resolve(true)
      const renew = () => {
        if (!isReleased) renewal = takeLease(sql, key, lease).then(resetsIn => resetsIn === null)
        return renewal
      }
      const release = async () => {
        isReleased = true
        // Waits for a running renewal, because the renewal would take the lease again after the release.
        await renewal.catch(() => {})
        await releaseLease(sql, key, lease)
      }
      const resetsIn = await takeLease(sql, key, lease)
      if (resetsIn !== null) throw exportRunningError(secondsLeft({ used: 1, resetsIn }))
      try {
        const window = await starts.hit(String(tokenId))
        if (window.used > starts.limit) throw tooManyExportsError(startsPerHour, secondsLeft(window))
      } catch (error) {
        // Ignores an error of the release, because the lease expires without it.
        await release().catch(() => {})
        throw error
      }
      return { renew, release }
    },
  }
}

/** Takes or renews a lease. Returns null on success; otherwise the time until the other lease ends, in milliseconds. */
async function takeLease(sql: Sql, key: string, lease: number): Promise<number | null> {
  const [row] = await sql<[{ taken: boolean; resetsIn: number }]>`
    with /* export_lease.take */ taken as (
      insert into gateway.rate_window as held (key, used, resets_at)
      values (${key}, ${lease}, clock_timestamp() + make_interval(secs => ${leaseSeconds}::integer))
      on conflict (key) do update set used = excluded.used, resets_at = excluded.resets_at
      where held.used = excluded.used or held.resets_at <= clock_timestamp()
      returning 1
    )
    select exists (select from taken) as taken,
           coalesce((select extract(epoch from resets_at - clock_timestamp()) * 1000 from gateway.rate_window
                     where key = ${key}), 0)::float8 as "resetsIn"`
  return row.taken ? null : Math.max(1, row.resetsIn)
}

async function releaseLease(sql: Sql, key: string, lease: number): Promise<void> {
  await sql`delete /* export_lease.release */ from gateway.rate_window where key = ${key} and used = ${lease}`
}

/** Returns the error of a token that already has a running export. @param retryAfter in seconds */
export const exportRunningError = (retryAfter: number) =>
  new GatewayError('RATE_LIMITED', 'This token has an export under way. Begin the next one when it has ended.', {
    retryAfter,
  })

/** Returns the error of a token that has started too many exports. @param retryAfter in seconds */
export const tooManyExportsError = (startsPerHour: number, retryAfter: number) =>
  new GatewayError(
    'RATE_LIMITED',
    `A token may start ${startsPerHour} export${startsPerHour === 1 ? '' : 's'} in an hour. Try again after the window resets.`,
    { retryAfter },
  )
