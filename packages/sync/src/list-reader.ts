/**
 * Updates the copy of one list of one tenant: from the start of the list, from the checkpoint of an interrupted sync,
 * or from `bound`, the time of the last complete reading.
 */
import type { TenantListName } from '#client'
import { type ListReading, type ListState, restartList } from './checkpoint.ts'
import { fetchTenantAccess } from './removals.ts'
import { codeOf, isGone, isUnknownCursor, retryAfterOf } from './service-error.ts'
import type { ListPage } from './source.ts'
import type { Change, StoredRecord } from './store.ts'
import { noteServerTime, type RoundResult, type Sync } from './sync.ts'

/** The maximum number of records that are read by pages. An export would use up one of the few exports per hour. */
const maxPagedRecords = 1_000

/** The number of records that pages return per second, at 120 pages of 50 records per minute. */
const pageRate = 100

/** The wait before an export is tried again if the answer has no `Retry-After`, in seconds. */
const defaultDelay = 60

/**
 * Reads a list until the copy has all records that existed when the call began.
 *
 * @throws VoucherGatewayError when the service refuses the list
 */
export async function readList(sync: Sync, tenantId: number, list: TenantListName, result: RoundResult): Promise<void> {
  const { checkpoint, report, source, store } = sync
  const { bound, reading } = checkpoint.list(tenantId, list)
  if (sync.isDryRun && bound === null) {
    const count = Math.max(0, (await source.count(tenantId, list)) - (reading?.received ?? 0))
    report({ event: 'would_read', tenant: tenantId, list, count })
    result.received += count
    return
  }
  for (;;) {
    const before = checkpoint.list(tenantId, list)
    await readToEnd(sync, tenantId, list, result)
    const { bound } = checkpoint.list(tenantId, list)
    if (bound === null) continue
    if (before.bound === null) result.beganAnew = true
    // A reading that an earlier run began is complete only up to a time of that run, so this run reads the changes
    // since that time. Before a sweep, the changes during the pass are read, so that the sweep does not delete changed
    // records.
    const isComplete = before.bound === null ? before.pass === 1 && bound >= result.serverTime : before.reading === null
    if (isComplete) break
  }
  const state = checkpoint.list(tenantId, list)
  if (state.swept) return
  const swept = checkpoint.setList(tenantId, list, { ...state, swept: true })
  await store.commit([{ kind: 'sweep', list, tenantId, pass: state.pass }], swept)
}

/** A part of the reading of a list: one request for the first page, or for all records after the position. */
interface Part {
  sync: Sync
  tenantId: number
  list: TenantListName
  /** The number of records of the list; null when unknown. */
  total: number | null
  result: RoundResult
}

/** Reads from the beginning, the cursor or the bound to the end of the list, or until the export breaks off. */
async function readToEnd(sync: Sync, tenantId: number, list: TenantListName, result: RoundResult): Promise<void> {
  const state = sync.checkpoint.list(tenantId, list)
  const part = { sync, tenantId, list, total: null, result }
  if (state.bound !== null) return readPages(part, false)
  // Reads the first page before the count, because a list of one page needs no count.
  if (state.reading === null) return readPages(part, true)
  const total = await sync.source.count(tenantId, list)
  return mayExport(sync, total - state.reading.received)
    ? readExport({ ...part, total })
    : readPages({ ...part, total }, false)
}

async function readPages(part: Part, isFirstPage: boolean): Promise<void> {
  const { sync, tenantId, list } = part
  const { reading, bound } = sync.checkpoint.list(tenantId, list)
  const since = (reading ? reading.newest : bound) ?? undefined
  const from = reading?.via === 'pages' ? { cursor: reading.cursor } : { updatedSince: since }
  try {
    for await (const page of sync.source.pages(tenantId, list, from)) {
      await storePage(part, 'pages', page)
      if (isFirstPage) return
    }
  } catch (error) {
    await restartOnUnknownCursor(part, error)
  }
}

async function readExport(part: Part): Promise<void> {
  const { sync, tenantId, list } = part
  const { exports, source } = sync
  const { reading } = sync.checkpoint.list(tenantId, list)
  await waitForExport(sync)
  try {
    const parts = source.exportList(tenantId, list, reading?.via === 'export' ? reading.cursor : undefined)
    for await (const page of parts) await storePage(part, 'export', page)
  } catch (error) {
    const code = codeOf(error)
    // A proxy that blocks exports may answer 403. If the token has lost the permission instead, the next page of v1
    // fails with the same error.
    if (isGone(error) && (await fetchTenantAccess(sync, tenantId))) exports.available = false
    else if (code === 'RATE_LIMITED') exports.refuse(retryAfterOf(error) ?? defaultDelay)
    // An export without its last line is not complete, and resumes from its last cursor.
    else if (code !== 'EXPORT_INCOMPLETE') await restartOnUnknownCursor(part, error)
  }
}

/** Writes a page and the new position in one commit, and reports the progress. */
async function storePage({ sync, tenantId, list, total, result }: Part, via: ListReading['via'], page: ListPage) {
  const { checkpoint, store, stop, report } = sync
  const { records } = page
  const state = checkpoint.list(tenantId, list)
  const next = advanceListState(state, via, page)
  const changes: Change[] = records.length > 0 ? [{ kind: 'put', list, tenantId, pass: state.pass, records }] : []
  await store.commit(changes, checkpoint.setList(tenantId, list, next))
  result.received += records.length
  noteServerTime(result, page.serverTime)
  if (state.bound === null) {
    const received = next.reading?.received ?? (state.reading?.received ?? 0) + records.length
    report({ event: 'progress', tenant: tenantId, list, via, received, total, done: page.cursor === null })
  }
  stop.throwIfAborted()
}

/** Waits until the next export may begin, and reports the wait. */
async function waitForExport({ exports, report, stop }: Sync): Promise<void> {
  const seconds = Math.ceil(exports.delay())
  if (seconds === 0) return
  report({ event: 'wait', seconds, reason: 'until the next bulk export may begin' })
  await exports.wait(stop)
}

/**
 * Yields all records of a list, without use of its checkpoint. A record can appear twice.
 *
 * @throws VoucherGatewayError when the service refuses the list
 */
export async function* readWholeList(
  sync: Sync,
  tenantId: number,
  list: TenantListName,
): AsyncGenerator<StoredRecord, void, undefined> {
  const { exports, source, stop } = sync
  const read = async function* (pages: AsyncIterable<ListPage>) {
    for await (const { records } of pages) {
      stop.throwIfAborted()
      yield* records
    }
  }
  const total = await source.count(tenantId, list)
  while (mayExport(sync, total)) {
    await waitForExport(sync)
    try {
      return yield* read(source.exportList(tenantId, list))
    } catch (error) {
      if (isGone(error)) exports.available = false
      else if (codeOf(error) === 'RATE_LIMITED') exports.refuse(retryAfterOf(error) ?? defaultDelay)
      else throw error
    }
  }
  yield* read(source.pages(tenantId, list, {}))
}

/** Restarts the reading when the service no longer accepts the cursor. @throws any other error */
async function restartOnUnknownCursor({ sync, tenantId, list }: Part, error: unknown): Promise<void> {
  const { checkpoint, store } = sync
  const state = checkpoint.list(tenantId, list)
  if (!isUnknownCursor(error) || !state.reading) throw error
  const restarted = state.bound === null ? restartList(state) : { ...state, reading: null }
  await store.commit([], checkpoint.setList(tenantId, list, restarted))
}

/** Returns the state of the list after a page of v1 or a chunk of an export. */
function advanceListState(
  state: ListState,
  via: ListReading['via'],
  { records, cursor, serverTime }: ListPage,
): ListState {
  // An export cannot continue from the cursor of a page, so it starts from the beginning. Pages can continue an export.
  const reading = via === 'export' && state.reading?.via === 'pages' ? null : state.reading
  const until = reading?.until ?? serverTime
  if (cursor === null) return { ...state, refused: false, bound: until, reading: null }
  const received = (reading?.received ?? 0) + records.length
  // The list is ordered by `updated_at`, and records without this time come first.
  const newest = records.at(-1)?.updatedAt ?? reading?.newest ?? null
  return { ...state, refused: false, reading: { via, cursor, until, newest, received } }
}

/** Returns whether an export, with its wait, reads this number of records in less time than pages. */
function mayExport({ exports }: Sync, left: number): boolean {
  return exports.available && left > maxPagedRecords && exports.delay() < left / pageRate
}
