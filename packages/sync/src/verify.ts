/**
 * Compares a copy with the service, record by record. The comparison finds damage that the checkpoint does not show,
 * such as a deleted file.
 */

import { hash } from 'node:crypto'
import { type TenantListName, tenantListNames } from '#client'
import { exitCodes, SyncError } from './errors.ts'
import type { SyncEvent } from './event.ts'
import { readWholeList } from './list-reader.ts'
import { runRound } from './round.ts'
import { describeComparison } from './sentence.ts'
import { isGone } from './service-error.ts'
import type { Change, Store } from './store.ts'
import { isSelected, type Sync, selectedTenants } from './sync.ts'

/** The checksum of each record, by the id of the record. */
type Checksums = Map<number, number>

type Comparison = SyncEvent & { event: 'compared' }

/** The maximum number of ids in the report of one list, and of lists in the error. */
const maxExamples = 5

/**
 * The number of further rounds before a difference counts. The copy gets a record that changes during a round only in
 * the next round.
 */
const confirmingRounds = 3

/** The number of records of a list in the copy, and the ids that differ from the service. */
interface ListDifferences {
  tenantId: number
  list: TenantListName
  copy: number
  missing: number[]
  extra: number[]
  different: number[]
}

/**
 * Compares a copy that is in step. Reads all lists of the service, and then runs another round. Records that this round
 * changes are not compared, because the service changed them after the first reading. Further rounds follow while
 * differences exist: only a record that is wrong in the copy stays different.
 *
 * The list of tenants is not compared, because each round writes the whole list.
 *
 * @throws SyncError when the copy differs
 */
export async function verifyCopy(sync: Sync): Promise<void> {
  const started = performance.now()
  const service = await readServiceChecksums(sync)
  const { store, changed } = recordChanges(sync.store)
  let { serverTime } = await runRound({ ...sync, store })
  const found: ListDifferences[] = []
  for (const [tenantId, lists] of service) {
    if (!sync.checkpoint.tenants.has(tenantId)) continue
    for (const [list, checksums] of lists) {
      const left = changed.get(keyOf(list, tenantId)) ?? new Set()
      if (left !== 'all') found.push(await compareList(sync.store, list, tenantId, checksums, left))
    }
  }
  for (let round = 1; round <= confirmingRounds && found.some(isDifferent); round++) {
    serverTime = (await runRound({ ...sync, store })).serverTime
    for (const each of found) leaveOutChanged(each, changed.get(keyOf(each.list, each.tenantId)))
  }
  for (const { list, tenantId } of await sync.store.counts()) {
    if (list === 'tenants' || sync.checkpoint.tenants.has(tenantId) || !isSelected(sync, tenantId)) continue
    // The checkpoint does not have this tenant, so all of its records in the copy count as extra.
    found.push(await compareList(sync.store, list, tenantId, new Map(), new Set()))
  }
  const comparisons = found.map(toComparison)
  for (const comparison of comparisons) sync.report(comparison)
  const differing = comparisons.filter(({ missing, extra, different }) => missing + extra + different > 0)
  if (differing.length > 0) throw differenceError(differing)
  const records = comparisons.reduce((sum, { copy }) => sum + copy, 0)
  const seconds = Math.round(performance.now() - started) / 1000
  sync.report({ event: 'verified', server_time: serverTime, records, seconds })
}

const keyOf = (list: TenantListName, tenantId: number) => `${list} ${tenantId}`

/** Returns the checksums of all records of the service that the copy should have. */
async function readServiceChecksums(sync: Sync): Promise<Map<number, Map<TenantListName, Checksums>>> {
  const service = new Map<number, Map<TenantListName, Checksums>>()
  for (const tenantId of selectedTenants(sync)) {
    const lists = new Map<TenantListName, Checksums>()
    service.set(tenantId, lists)
    for (const list of tenantListNames) {
      const state = sync.checkpoint.tenants.get(tenantId)?.lists[list]
      if (!state || state.refused || !(sync.selection.lists?.has(list) ?? true)) continue
      try {
        const checksums: Checksums = new Map()
        for await (const { id, record } of readWholeList(sync, tenantId, list)) checksums.set(id, checksumOf(record))
        lists.set(list, checksums)
      } catch (error) {
        // The token has just lost the tenant or the permission. The next round handles that.
        if (!isGone(error)) throw error
      }
    }
  }
  return service
}

/** Returns a store that also records the ids of changed records; `all` for a list that was replaced. */
function recordChanges(store: Store) {
  const changed = new Map<string, Set<number> | 'all'>()
  const add = (list: TenantListName, tenantId: number, ids: readonly number[]) => {
    const known = changed.get(keyOf(list, tenantId)) ?? new Set()
    if (known === 'all') return
    for (const id of ids) known.add(id)
    changed.set(keyOf(list, tenantId), known)
  }
  const addChange = (change: Change) => {
    if (change.kind === 'drop') for (const list of tenantListNames) changed.set(keyOf(list, change.tenantId), 'all')
    else if (change.list === 'tenants') return
    else if (change.kind === 'sweep') changed.set(keyOf(change.list, change.tenantId), 'all')
    else add(change.list, change.tenantId, change.kind === 'remove' ? change.ids : change.records.map(({ id }) => id))
  }
  const watched: Store = {
    get positions() {
      return store.positions
    },
    counts: () => store.counts(),
    records: (list, tenantId) => store.records(list, tenantId),
    publish: () => store.publish(),
    close: () => store.close(),
    commit(changes, positions) {
      changes.forEach(addChange)
      return store.commit(changes, positions)
    },
  }
  return { store: watched, changed }
}

async function compareList(
  store: Store,
  list: TenantListName,
  tenantId: number,
  expected: Checksums,
  changed: ReadonlySet<number>,
): Promise<ListDifferences> {
  const extra: number[] = []
  const different: number[] = []
  let copy = 0
  for await (const { id, text } of store.records(list, tenantId)) {
    copy += 1
    if (changed.has(id)) continue
    const checksum = expected.get(id)
    if (checksum === undefined) extra.push(id)
    else if (checksum !== checksumOfText(text)) different.push(id)
    // When the copy has a record twice, the second one counts as an extra record.
    expected.delete(id)
  }
  const missing = [...expected.keys()].filter(id => !changed.has(id))
  return { tenantId, list, copy, missing, extra, different }
}

const isDifferent = ({ missing, extra, different }: ListDifferences) =>
  missing.length + extra.length + different.length > 0

/** Removes the ids of records that the service changed during the comparison. */
function leaveOutChanged(found: ListDifferences, changed: ReadonlySet<number> | 'all' | undefined): void {
  for (const kind of ['missing', 'extra', 'different'] as const) {
    found[kind] = found[kind].filter(id => changed !== 'all' && !changed?.has(id))
  }
}

const toComparison = ({ tenantId, list, copy, missing, extra, different }: ListDifferences): Comparison => ({
  event: 'compared',
  tenant: tenantId,
  list,
  service: copy - extra.length + missing.length,
  copy,
  missing: missing.length,
  extra: extra.length,
  different: different.length,
  examples: [...missing, ...extra, ...different].slice(0, maxExamples),
})

function differenceError(comparisons: readonly Comparison[]): SyncError {
  const named = comparisons.slice(0, maxExamples).map(describeComparison)
  const others = comparisons.length > named.length ? ` And ${comparisons.length - named.length} more lists differ.` : ''
  return new SyncError(
    exitCodes.differs,
    `The copy differs from the service. ${named.join(' ')}${others} ` +
      'To repair it, run the same command with --full instead of --verify: it reads all lists again.',
  )
}

/**
 * Returns 48 bits of the SHA-256 of a record. Sorts its keys first, because jsonb in PostgreSQL does not keep their
 * order.
 */
const checksumOf = (record: unknown): number =>
  Number.parseInt(hash('sha256', JSON.stringify(sortKeys(record)), 'hex').slice(0, 12), 16)

function checksumOfText(text: string): number {
  try {
    return checksumOf(JSON.parse(text))
  } catch {
    return Number.NaN
  }
}

function sortKeys(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sortKeys)
  if (typeof value !== 'object' || value === null) return value
  return Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, each]) => [key, sortKeys(each)])
}
