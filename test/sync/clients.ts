import { setTimeout as pause } from 'node:timers/promises'
import type postgres from '#postgres'
import { type TenantListName, tenantLists, VoucherGatewayError } from '../../packages/client/src/index.ts'
import type { Ask, CopiedRecord } from './lists.ts'
import type { Random } from './random.ts'

/** The time from which a client resumes a list, as docs/guides/keeping-in-step.md describes. */
export type Resumption = 'first page' | 'last page' | 'newest record'

export interface CopiedTenant<List = { copy: Map<string, CopiedRecord> }> {
  record: CopiedRecord
  lists: ReadonlyMap<TenantListName, List>
}

/** The copy of a client: the tenants of its token, with the records of their lists. */
export type Copy = Map<string, CopiedTenant>

/**
 * Returns true when a later request may succeed: the service is overloaded or stopped, or the export of a killed
 * instance still counts.
 */
export const isTemporary = (error: unknown): boolean =>
  error instanceof VoucherGatewayError && /^(UNAVAILABLE|RATE_LIMITED|CONNECTION_FAILED)$/.test(error.code)

/** Returns true when the tenant is deleted or the token no longer includes it. */
export const isGone = (error: unknown): boolean =>
  error instanceof VoucherGatewayError && ['NOT_FOUND', 'FORBIDDEN'].includes(error.code)

/** Deletes from the copy what a removal reports: a tenant, or a record of a list. */
export function applyRemoval(copy: Copy, tenant: CopiedTenant | undefined, { resource, id }: CopiedRecord): void {
  if (resource === 'TENANT') copy.delete(String(id))
  for (const [list, { copy: records }] of tenant?.lists ?? [])
    if (tenantLists[list].removal === resource) records.delete(String(id))
}

/**
 * Repeats a request after temporary errors, more often than the client for integrators, so that a test has many passes.
 */
export const withRetries =
  (ask: Ask): Ask =>
  async (since, cursor) => {
    for (let left = 300; ; left--) {
      try {
        return await ask(since, cursor)
      } catch (error) {
        if (!isTemporary(error) || left === 0) throw error
        await pause(100)
      }
    }
  }

/**
 * Reads a list from a stamp to its end.
 *
 * @param since the stamp; null for all records @param accept called with each record, in the list's order
 * @throws VoucherGatewayError when the service refuses a page
 */
export async function readPass(ask: Ask, since: string | null, accept: (record: CopiedRecord) => void) {
  let cursor: string | null = null
  const times = { first: '', last: '' }
  do {
    const page = await ask(since, cursor)
    times.first ||= page.serverTime
    times.last = page.serverTime
    cursor = page.nextCursor
    page.records.forEach(accept)
  } while (cursor !== null)
  return times
}

export async function readWhole(ask: Ask): Promise<CopiedRecord[]> {
  const records = new Map<string, CopiedRecord>()
  await readPass(ask, null, record => records.set(record.key, record))
  return [...records.values()]
}

export type SyncClient = ReturnType<typeof createSyncClient>

/** Creates a client that keeps a copy of one list up to date, and never reads the whole list again. */
export function createSyncClient(ask: Ask, resumption: Resumption) {
  const copy = new Map<string, CopiedRecord>()
  let since: string | null = null

  /** Reads from the bound of the previous pass to the end of the list. */
  async function pass() {
    let newest = since
    const { first, last } = await readPass(ask, since, record => {
      copy.set(record.key, record)
      if (newest === null || record.updatedAt > newest) newest = record.updatedAt
    })
    since = { 'first page': first, 'last page': last, 'newest record': newest }[resumption]
  }
  return { copy, pass }
}

/** Repeats a pass, with random pauses, until `stop` is aborted. */
export async function follow(pass: () => Promise<void>, random: Random, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await pass()
    await pause(50 + random.below(350))
  }
}

/**
 * Creates the control, which resumes from `now()` by stamps that come from `now()`, and so misses changes.
 *
 * @returns the pass of the control, and the texts of the changes that it has missed
 */
export function createControl(sql: postgres.Sql, tenant: number) {
  const copy = new Map<string, string>()
  const lost = new Set<string>()
  let since = '-infinity'
  async function pass() {
    const changed = await sql<{ id: string; mark: string; now: string }[]>`
      select id::text, coalesce(product_title, '') as mark, now()::text from purchased_voucher
      where tenant_id = ${tenant} and naive_stamp >= ${since}::text::timestamptz`
    for (const { id, mark } of changed) copy.set(id, mark)
    since = changed[0]?.now ?? since
    const passed = await sql<{ id: string; mark: string }[]>`
      select id::text, coalesce(product_title, '') as mark from purchased_voucher
      where tenant_id = ${tenant} and naive_stamp > now() - interval '20 seconds' and naive_stamp < ${since}::text::timestamptz`
    for (const { id, mark } of passed) if (copy.get(id) !== mark) lost.add(mark)
  }
  return { pass, lost }
}
