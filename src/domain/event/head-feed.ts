/** Reads which lists changed (`gateway.list_head`, I12), once for all streams and webhooks of this process. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from '../../db/sql.ts'
import { firstFillError, lastStamp } from '../sync/server-time.ts'
import type { TenantPath } from '../token/scope.ts'
import type { Token } from '../token/token.ts'
import { afterAll, type Instant, instantText } from '../value/instant.ts'

/** The head of a list that changed. */
export interface Head {
  tenantId: number
  /** The type of its records: `record` of `RecordType`. */
  record: string
  changedAt: Instant
  /** The tenant and the tenants above it; null when the tenant was deleted. */
  path: TenantPath | null
}

/** The lists that changed between two reads. */
export interface HeadBatch {
  /** The heads, in the order of their changes. */
  heads: Head[]
  /** The instant up to which these heads are complete. */
  serverTime: Instant
  epoch: number
  /** See `SyncState`. */
  removalsCompleteSince: Instant | null
}

export type HeadFeed = ReturnType<typeof createHeadFeed>

/** The interval of reads while there are listeners, in milliseconds: steps are as frequent. */
const readInterval = 100

/**
 * Creates the feed. It reads only while it has listeners.
 *
 * @param report receives errors of reads; the next read catches up
 */
export function createHeadFeed(sql: Sql, report: (error: unknown) => void) {
  const listeners = new Set<(batch: HeadBatch) => void>()
  const starting = new Set<(error: unknown) => void>()
  let last: HeadBatch | null = null
  let isReading = false
  let isClosed = false

  async function readOnce(): Promise<void> {
    const batch = await readHeads(sql, last?.serverTime ?? afterAll)
    last = batch
    for (const listener of listeners) listener(batch)
    settle(null)
  }

  /** Answers the callers that begin to listen. @param error the reason why they cannot listen, or null */
  function settle(error: unknown): void {
    for (const start of starting) start(error)
    starting.clear()
  }

  async function keepReading(): Promise<void> {
    isReading = true
    while (listeners.size > 0) {
      await readOnce().catch(error => {
        if (starting.size === 0) report(error)
        settle(error)
      })
      await pause(readInterval, undefined, { ref: false })
    }
    isReading = false
    // Without listeners the feed stops: the next listener begins at the instant of its own call.
    last = null
  }

  const start = () =>
    new Promise<void>((resolve, reject) => starting.add(error => (error === null ? resolve() : reject(error))))

  return {
    /**
     * Calls a listener after each read, even when no list changed.
     *
     * @returns a function that ends the calls. It resolves once the feed has a position, so the listener gets each
     *   change that a statement sent afterwards does not show
     * @throws `UNAVAILABLE` during the first fill, and errors of the database
     */
    async listen(listener: (batch: HeadBatch) => void): Promise<() => void> {
      if (isClosed) return () => {}
      listeners.add(listener)
      if (!isReading) void keepReading()
      try {
        if (last === null) await start()
      } catch (error) {
        listeners.delete(listener)
        throw error
      }
      return () => listeners.delete(listener)
    },
    /** Ends all reads, for a service that stops. */
    close(): void {
      isClosed = true
      listeners.clear()
      settle(null)
    },
  }
}

/** Reads the heads later than an instant. @throws `UNAVAILABLE` during the first fill */
async function readHeads(sql: Sql, after: Instant): Promise<HeadBatch> {
  const [batch] = await sql<HeadBatch[]>`
    select /* head.read_changed */ ${instantText(sql, sql`stamp`)} as "serverTime", epoch,
           ${instantText(sql, sql`nullif(removals_complete_since, '-infinity')`)} as "removalsCompleteSince",
           (select coalesce(json_agg(json_build_object('tenantId', tenant_id, 'record', record,
                                                       'changedAt', ${instantText(sql, sql`changed_at`)},
                                                       'path', (
                      select array_to_json(path) from gateway.tenant_path where tenant_id = head.tenant_id
                    )) order by changed_at), '[]')
            from gateway.list_head head where changed_at > ${after}::text::timestamptz) as heads
    from gateway.sync_state, (select ${lastStamp(sql)} as stamp) last where stamp is not null`
  if (!batch) throw firstFillError()
  return batch
}

/** Returns a function that tests whether a token is authorised for the tenant of a head (R21). */
export function headFilter({ tenants }: Token): (head: Head) => boolean {
  const named = new Set(tenants.map(({ tenantId }) => tenantId))
  const whole = new Set(tenants.filter(grant => grant.withDescendants).map(({ tenantId }) => tenantId))
  return ({ tenantId, path }) => named.has(tenantId) || (path ?? []).some(id => whole.has(id))
}
