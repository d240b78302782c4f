// Loads the tenants that the tenant picker shows.
import type { Sql } from '../../db/sql.ts'
import { listFoundTenants, placeTenants, searchTenants } from '../../domain/tenant/tree.ts'
import type { TenantGrant } from '../../domain/token/token.ts'
import { maxChosen, type PickerState, readPicker } from './state.ts'

/** The state of a picker with the tenants that it shows. */
export type Picker = Awaited<ReturnType<typeof loadPicker>>

/**
 * Loads the chosen tenants and the results. When the state asks for it, all results are also chosen.
 *
 * @param posted the form that was posted; with null, the picker shows the given grants as chosen, and has no search
 * @returns the chosen grants, each with its tenant if that exists
 */
export async function loadPicker(sql: Sql, posted: URLSearchParams | null, initial: TenantGrant[] = []) {
  const { state } = readPicker(posted ?? new URLSearchParams())
  const grants = posted ? (state.addAll ? await addMatches(sql, state) : state.grants) : initial
  const ids = grants.map(grant => grant.tenantId)
  const [placed, matches] = await Promise.all([
    ids.length === 0 ? [] : placeTenants(sql, ids),
    searchTenants(sql, state.shown, ids),
  ])
  const places = new Map(placed.map(tenant => [tenant.id, tenant]))
  return { ...state, matches, chosen: grants.map(grant => ({ grant, tenant: places.get(grant.tenantId) })) }
}

/** Returns the grants, with a new grant for each match. It adds none when the form has no room for all of them. */
async function addMatches(sql: Sql, { grants, shown }: PickerState): Promise<TenantGrant[]> {
  const chosen = new Set(grants.map(grant => grant.tenantId))
  const found = await listFoundTenants(sql, shown, maxChosen + 1)
  const added = found.filter(id => !chosen.has(id)).map(tenantId => ({ tenantId, withDescendants: false }))
  return grants.length + added.length > maxChosen ? grants : [...grants, ...added]
}
