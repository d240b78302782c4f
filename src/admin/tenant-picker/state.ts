// The state of the tenant picker, and the tenants that it shows.
import type { Sql } from '../../db/sql.ts'
import { listFoundTenants, placeTenants, searchTenants, type TenantSearch } from '../../domain/tenant/tree.ts'
import type { TenantGrant } from '../../domain/token/token.ts'
import { parseIdentifier } from '../../domain/value/identifier.ts'
import { textField } from '../form-body.ts'

/** The state of the tenant picker. It is posted with the form. */
export interface PickerState {
  grants: TenantGrant[]
  search: string
  /** The search whose results are shown. */
  shown: TenantSearch
  /** True to add all results to the chosen tenants. */
  addAll: boolean
  /** True when the Enter key has started the search: then the page opens at the search field instead of at the top. */
  entered: boolean
}

/** The maximum number of tenants that a form can choose. More tenants do not fit into a form of the maximum size. */
export const maxChosen = 2_000

export const maxSearchLength = 200

/**
 * Reads the picker's fields of a posted form, and applies the button of the picker that was pressed: `find`, `add-all`,
 * or a button with the id of a tenant, such as `add:7`, `remove:7` and `below:7`.
 *
 * @returns the next state, and whether to save the form: true when neither a button of the picker nor Enter in its
 *   search field was pressed
 */
export function readPicker(form: URLSearchParams): { state: PickerState; save: boolean } {
  const values = new Map(form)
  const [button = '', subject = ''] = (form.get('do') ?? '').split(':')
  const chosen = [...form.getAll('tenant'), ...(button === 'add' ? [subject] : [])].map(parseIdentifier)
  const removed = button === 'remove' ? parseIdentifier(subject) : null
  const search = textField(form, 'search').slice(0, maxSearchLength)
  const text = textField(form, 'searched').slice(0, maxSearchLength)
  const state: PickerState = {
    grants: [...new Set(chosen)]
      .filter(id => id !== null)
      .filter(id => id !== removed)
      .map(tenantId => ({ tenantId, withDescendants: values.get(`reach-${tenantId}`) === 'below' })),
    search,
    shown: { text, parentId: parseIdentifier(form.get('below') ?? '') },
    addAll: button === 'add-all',
    entered: false,
  }
  if (['add', 'add-all', 'remove'].includes(button)) return { state, save: false }
  if (button === 'below')
    return { state: { ...state, search: '', shown: { text: '', parentId: parseIdentifier(subject) } }, save: false }
  // During a search, Enter does not save the form, in any field.
  const entered = button === 'enter'
  const isSearch = button === 'find' || (search !== '' && search !== text) || (entered && text !== '')
  if (!isSearch) return { state, save: true }
  return { state: { ...state, shown: { text: search, parentId: null }, entered }, save: false }
}

/** The state of a picker with the tenants that it shows. */
export type Picker = Awaited<ReturnType<typeof loadPicker>>

/**
 * Loads the chosen tenants and the results. If the state says so, adds all results to the chosen tenants.
 *
 * @param posted the form that was posted; null shows the given grants as chosen, without a search
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

/**
 * Returns the grants, with a new grant for each match; the grants unchanged when the form has no room for all matches.
 */
async function addMatches(sql: Sql, { grants, shown }: PickerState): Promise<TenantGrant[]> {
  const chosen = new Set(grants.map(grant => grant.tenantId))
  const found = await listFoundTenants(sql, shown, maxChosen + 1)
  const added = found.filter(id => !chosen.has(id)).map(tenantId => ({ tenantId, withDescendants: false }))
  return grants.length + added.length > maxChosen ? grants : [...grants, ...added]
}
