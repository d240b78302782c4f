import type { TenantGrant } from '../../domain/token/token.ts'
import { parseIdentifier } from '../../domain/value/identifier.ts'
import { adminPath } from '../../http/paths.ts'
import { textField } from '../form-body.ts'

/** The state of the tenant picker. It is posted with the form. */
export interface PickerState {
  /** The chosen tenants. */
  grants: TenantGrant[]
  /** The number of shown children of each opened tenant; under null, the number of shown tenants without a parent. */
  levels: Map<number | null, number>
  search: string
  /** The search whose matches are shown. */
  searched: string
  /** True to choose all matches as well. */
  addAll: boolean
  /** True when Enter has started the search: then the page opens at the search box instead of at its top. */
  entered: boolean
}

/** The number of tenants of a level that are loaded at a time. */
export const levelLength = 50

/** The maximum number of tenants that the tree may show. */
const maxShown = 10_000

/** The maximum number of tenants that a form can choose: more do not fit into a form of the maximum size. */
export const maxChosen = 2_000

export const maxSearchLength = 200

/**
 * Reads the picker's fields of a posted form, and applies the picker's button that was pressed. Ticked tenants are
 * chosen by every button.
 *
 * @returns the next state, and whether to save the form: no button of the picker was pressed, nor Enter in its search
 */
export function readPicker(form: URLSearchParams): { state: PickerState; save: boolean } {
  const values = new Map(form)
  const state: PickerState = {
    grants: identifiers([...form.getAll('tenant'), ...form.getAll('pick')]).map(tenantId => ({
      tenantId,
      withDescendants: values.get(`reach-${tenantId}`) === 'below',
    })),
    levels: readLevels(form.get('opened') ?? ''),
    search: textField(form, 'search').slice(0, maxSearchLength),
    searched: textField(form, 'searched').slice(0, maxSearchLength),
    addAll: false,
    entered: false,
  }
  const [button = '', subject = ''] = (form.get('do') ?? '').split(':')
  if (button === 'add') return { state, save: false }
  if (button === 'add-all') return { state: { ...state, addAll: state.searched !== '' }, save: false }
  if (button === 'toggle' || button === 'more')
    return { state: { ...state, levels: press(state.levels, button, parseParent(subject)) }, save: false }
  // Enter is the same in every field: during a search it does not save.
  const isSearch =
    button === 'find' ||
    (state.search !== '' && state.search !== state.searched) ||
    (button === 'enter' && state.searched !== '')
  if (!isSearch) return { state, save: true }
  return { state: { ...state, searched: state.search, entered: button === 'enter' }, save: false }
}

function press(
  levels: PickerState['levels'],
  button: 'toggle' | 'more',
  parentId: number | null | undefined,
): PickerState['levels'] {
  if (parentId === undefined) return levels
  const next = new Map(levels)
  if (button === 'toggle' && parentId !== null && next.delete(parentId)) return next
  if (!canShowMore(levels)) return levels
  return next.set(parentId, (next.get(parentId) ?? 0) + levelLength)
}

/** Returns whether the tree may show another part of a level. */
export const canShowMore = (levels: PickerState['levels']): boolean =>
  [...levels.values()].reduce((total, size) => total + size, 0) + levelLength <= maxShown

const allTenants = 'all'

/** Returns a parent as forms and URLs name it. */
export const parentText = (parentId: number | null): string => (parentId === null ? allTenants : String(parentId))

/** Returns the parent that a text of `parentText` names; undefined when it names none. */
export const parseParent = (text: string): number | null | undefined =>
  text === allTenants ? null : (parseIdentifier(text) ?? undefined)

/** The path from which the script of the picker loads its lists: the form is posted to it. */
export const listsPath = `${adminPath}/tenants`

/** Returns the path from which the script loads the part of a level that follows a tenant, or its start. */
export const levelPath = (parentId: number | null, afterId?: number): string =>
  `${listsPath}?${new URLSearchParams({ below: parentText(parentId), ...(afterId !== undefined && { after: String(afterId) }) })}`

/** Returns the levels as text in the form, for example `all:50,7:100`. */
export const levelsText = (levels: PickerState['levels']): string =>
  [...levels].map(([parentId, size]) => `${parentText(parentId)}:${size}`).join(',')

function readLevels(text: string): PickerState['levels'] {
  const levels: PickerState['levels'] = new Map([[null, levelLength]])
  let left = maxShown - levelLength
  for (const entry of text.split(',')) {
    const [parent = '', count = ''] = entry.split(':')
    const parentId = parseParent(parent)
    if (parentId === undefined) continue
    const before = levels.get(parentId) ?? 0
    const size = Math.min(Math.max(parseIdentifier(count) ?? 0, levelLength), before + left)
    if (size <= before) continue
    levels.set(parentId, size)
    left -= size - before
  }
  return levels
}

const identifiers = (texts: string[]) => [...new Set(texts.map(parseIdentifier).filter(id => id !== null))]
