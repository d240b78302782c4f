/** Deletes the records that left the lists of a tenant from the copy. */
import { type Removal, type TenantListName, tenantListNames } from '#client'
import { hasBegun, restartList, type TenantState } from './checkpoint.ts'
import { exitCodes, SyncError } from './errors.ts'
import { removalResourceOf } from './lists.ts'
import { isGone, isGraphqlFieldError, isUnknownCursor, messageOf, needsFullPass } from './service-error.ts'
import type { Change } from './store.ts'
import { noteServerTime, type RoundResult, type Sync } from './sync.ts'

/**
 * The outcome of reading the removals of a tenant. `applied`: the removed records were deleted from the copy. `gone`:
 * the token lost the tenant. `full pass`: all lists must be read again.
 */
type RemovalOutcome = 'applied' | 'gone' | 'full pass'

/**
 * The maximum number of restarts of one reading of removals. The service can refuse a cursor or a permission more than
 * once.
 */
const maxRestarts = 3

/** Reads the removals of a tenant since the bound in the checkpoint, and applies them to the copy. */
export async function readRemovals(sync: Sync, tenantId: number, result: RoundResult): Promise<RemovalOutcome> {
  const { checkpoint } = sync
  for (let restarts = 0; ; ) {
    const { reading } = checkpoint.tenant(tenantId).removals
    try {
      const outcome = await readPages(sync, tenantId, result)
      // A reading that an earlier run began is complete only up to a time of that run, so this run reads the removals
      // since that time.
      if (outcome !== 'applied' || reading === null || !checkpoint.tenants.has(tenantId)) return outcome
    } catch (error) {
      if (needsFullPass(error)) return 'full pass'
      if (++restarts > maxRestarts) throw error
      if (isUnknownCursor(error)) await restartRemovals(sync, tenantId)
      else if (!isGone(error)) throw error
      else if (!(await fetchTenantAccess(sync, tenantId))) return 'gone'
      // The tenant still exists, so the token has lost a permission.
      else await markForbiddenLists(sync, tenantId)
    }
  }
}

/**
 * Returns whether the token may read the tenant. False only for an error in a GraphQL answer: when the service is down,
 * a proxy may answer 404 or 403, and the copy must not drop the tenant because of such an answer.
 *
 * @throws SyncError when a server other than the service answers
 */
export async function fetchTenantAccess({ source }: Sync, tenantId: number): Promise<boolean> {
  try {
    await source.readIdentity(tenantId)
    return true
  } catch (error) {
    if (!isGone(error)) throw error
    if (isGraphqlFieldError(error)) return false
    const message = `Something else than the service answers at ${source.url}/graphql: ${messageOf(error)}`
    throw new SyncError(exitCodes.unreachable, message, { cause: error })
  }
}

/** Returns the lists of a tenant whose records the copy can contain, and whose removals the sync must not miss. */
const listReadableLists = ({ lists }: TenantState): TenantListName[] =>
  tenantListNames.filter(list => lists[list] !== undefined && hasBegun(lists[list]) && !lists[list].refused)

async function readPages(sync: Sync, tenantId: number, result: RoundResult): Promise<RemovalOutcome> {
  const { checkpoint, source, store } = sync
  const state = checkpoint.tenant(tenantId)
  const resources = (['tenants', ...listReadableLists(state)] as const).map(list => removalResourceOf(list))
  const { bound, reading } = state.removals
  const pages = source.removals(tenantId, { resources, updatedSince: bound, cursor: reading?.cursor })
  for await (const { records: removals, nextCursor: cursor, serverTime, epoch } of pages) {
    if (epoch > (checkpoint.copy?.epoch ?? epoch)) return 'full pass'
    noteServerTime(result, serverTime)
    const state = checkpoint.tenant(tenantId)
    const until = state.removals.reading?.until ?? serverTime
    const changes = convertRemovals(sync, tenantId, removals)
    const positions = checkpoint.setTenant(tenantId, {
      ...state,
      removals: cursor === null ? { bound: until, reading: null } : { bound, reading: { cursor, until } },
    })
    const left = changes.flatMap(change => (change.kind === 'drop' ? [change.tenantId] : []))
    await store.commit(changes, new Map([...positions, ...checkpoint.dropTenants(left)]))
    result.removed += removals.length
    for (const tenant of left) sync.report({ event: 'left', tenant })
    sync.stop.throwIfAborted()
    if (!checkpoint.tenants.has(tenantId)) break
  }
  return 'applied'
}

/** Lets the next reading begin at the bound, because the service no longer knows the cursor. */
async function restartRemovals({ checkpoint, store }: Sync, tenantId: number): Promise<void> {
  const { removals, ...state } = checkpoint.tenant(tenantId)
  await store.commit([], checkpoint.setTenant(tenantId, { ...state, removals: { ...removals, reading: null } }))
}

/** Converts removals to changes of the copy, one change per list. */
function convertRemovals({ checkpoint }: Sync, tenantId: number, removals: readonly Removal[]): Change[] {
  const changes: Change[] = []
  for (const list of tenantListNames) {
    const ids = removals.flatMap(({ resource, recordId }) => (resource === removalResourceOf(list) ? [recordId] : []))
    if (ids.length > 0) changes.push({ kind: 'remove', list, tenantId, ids })
  }
  for (const { resource, recordId: id } of removals) {
    if (resource === 'TENANT' && checkpoint.tenants.has(id)) changes.push({ kind: 'drop', tenantId: id })
  }
  return changes
}

/**
 * Marks the lists that the token may no longer read. The records of these lists stay in the copy. When the token
 * regains the permission, the lists are read again.
 */
async function markForbiddenLists({ checkpoint, source, store }: Sync, tenantId: number): Promise<void> {
  for (const list of listReadableLists(checkpoint.tenant(tenantId))) {
    if (await source.mayRead(tenantId, removalResourceOf(list))) continue
    const state = restartList(checkpoint.list(tenantId, list), true)
    await store.commit([], checkpoint.setList(tenantId, list, state))
  }
}
