// Loads the tenants that the tenant picker shows.
import type { Sql } from '../../db/sql.ts'
import {
  listFoundTenants,
  listTreeChildren,
  placeTenants,
  searchTenants,
  type TreeChildren,
} from '../../domain/tenant/tree.ts'
import type { TenantGrant } from '../../domain/token/token.ts'
import { maxChosen, type PickerState, readPicker } from './state.ts'

/** The lists of a picker, without its tree. */
export type PickerLists = Awaited<ReturnType<typeof loadLists>>

/** The state of a picker with the tenants that it shows. */
export type Picker = Awaited<ReturnType<typeof loadPicker>>

/**
 * Loads all that the picker of a form shows.
 *
 * @param posted the form that was posted; null: the picker has these grants chosen, nothing opened and no search
 */
export async function loadPicker(sql: Sql, posted: URLSearchParams | null, grants: TenantGrant[] = []) {
  const { state } = readPicker(posted ?? new URLSearchParams())
  if (!posted) state.grants = grants
  const [lists, levels] = await Promise.all([
    loadLists(sql, state),
    listTreeChildren(
      sql,
      [...state.levels].map(([parentId, size]) => ({ parentId, afterId: null, size })),
    ),
  ])
  return { ...lists, state: { ...state, levels: reachable(levels, state.levels) }, levels }
}

/**
 * Loads the chosen tenants, all matches among them when the state wants that, and the matches.
 *
 * @returns the grants that were chosen, each with its tenant unless that does not exist; the matches are null without a search
 */
export async function loadLists(sql: Sql, state: PickerState) {
  const { searched } = state
  const grants = state.addAll ? await addMatches(sql, state) : state.grants
  const chosenIds = grants.map(grant => grant.tenantId)
  const [placed, matches] = await Promise.all([
    chosenIds.length === 0 ? [] : placeTenants(sql, chosenIds),
    searched === '' ? null : searchTenants(sql, searched, chosenIds),
  ])
  const places = new Map(placed.map(tenant => [tenant.id, tenant]))
  return { chosen: grants.map(grant => ({ grant, tenant: places.get(grant.tenantId) })), searched, matches }
}

/** Returns the grants with one more for each match; without the matches when they are too many for the form. */
async function addMatches(sql: Sql, { grants, searched }: PickerState): Promise<TenantGrant[]> {
  const chosen = new Set(grants.map(grant => grant.tenantId))
  const found = await listFoundTenants(sql, searched, maxChosen + 1)
  const added = found.filter(id => !chosen.has(id)).map(tenantId => ({ tenantId, withDescendants: false }))
  return grants.length + added.length > maxChosen ? grants : [...grants, ...added]
}

/** Returns the opened levels that the tree shows, without levels below a closed tenant. */
function reachable(levels: Map<number | null, TreeChildren>, opened: PickerState['levels']): PickerState['levels'] {
  const shown = new Set<number | null>([null])
  const visit = (parentId: number | null) => {
    for (const { id } of levels.get(parentId)?.tenants ?? []) {
      shown.add(id)
      visit(id)
    }
  }
  visit(null)
  return new Map([...opened].filter(([parentId]) => shown.has(parentId)))
}
