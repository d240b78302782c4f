/**
 * Reads which lists have changed (`gateway.list_head`, I12). All streams and webhooks of this process share each read.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Sql } from '../../db/sql.ts'
import { firstFillError, lastStamp } from '../sync/server-time.ts'
import type { TenantPath } from '../token/scope.ts'
import type { Token } from '../token/token.ts'
import { afterAll, type Instant, instantText } from '../value/instant.ts'

/** The head of a changed list: the list, and the instant of its last change. */
export interface Head {
  tenantId: number
  /** The type of the list's records: `record` of `RecordType`. */
  record: string
  changedAt: Instant
  /** The ids of the tenant and of the tenants above it; null when the tenant was deleted. */
  path: TenantPath | null
}

/** The lists that changed between two reads. */
export interface HeadBatch {
  /** The heads of the lists, the earliest change first. */
  heads: Head[]
  /** The instant up to which `heads` has all changes. */
  serverTime: Instant
  epoch: number
  /** See `SyncState`. */
  removalsCompleteSince: Instant | null
}

export type HeadFeed = ReturnType<typeof createHeadFeed>

/** The pause between two reads while there are listeners, in milliseconds: about as long as the interval of steps. */
const readInterval = 100

/**
 * Creates the feed. The feed reads only while it has listeners.
 *
 * @param report receives the error of a read; the next read also returns the changes that the failed read missed
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

  /** Settles the waiting calls of `listen`. @param error the reason why they cannot listen, or null */
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
    // Without listeners the feed forgets its position, so the next listener gets only changes after its own call.
    last = null
  }

  const start = () =>
    new Promise<void>((resolve, reject) => starting.add(error => (error === null ? resolve() : reject(error))))

  return {
    /**
     * Calls a listener after each read, even when no list changed.
     *
     * @returns a function that ends the calls. The promise resolves when the feed has a position. A statement that is
     * sent afterwards shows all earlier changes, and the listener gets all later changes
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
    /** Ends all reads; call it when the service stops. */
    close(): void {
      isClosed = true
      listeners.clear()
      settle(null)
    },
  }
}

/** Reads the heads of the lists that changed after an instant. @throws `UNAVAILABLE` during the first fill */
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

/** Returns a function that returns whether a token is authorised for the tenant of a head (R21). */
export function headFilter({ tenants }: Token): (head: Head) => boolean {
  const named = new Set(tenants.map(({ tenantId }) => tenantId))
  const whole = new Set(tenants.filter(grant => grant.withDescendants).map(({ tenantId }) => tenantId))
  return ({ tenantId, path }) => named.has(tenantId) || (path ?? []).some(id => whole.has(id))
}
