import { parseIdentifier } from '../../domain/identifier.ts'
import type { TenantGrant } from '../../domain/token.ts'
import { textOf } from '../form-body.ts'

/** How the picker stands; it travels in the form. */
export interface PickerState {
  /** What is chosen. */
  grants: TenantGrant[]
  /** The tenants whose children are shown. */
  opened: number[]
  /** What stands in the search box. */
  search: string
  /** What was last searched for; what was found is still shown. */
  searched: string
  /** Whether Enter has just searched: the form is shown from the search box on, and not from its beginning. */
  entered: boolean
}

/** How many tenants may be open at once. */
export const mostOpened = 200

/** The longest text that is searched for, in characters. */
export const longestSearch = 200

/**
 * Reads the picker's part of a posted form, and does what its buttons ask.
 *
 * @returns the state that follows, and whether the form is to be saved: neither a button of the picker was pressed,
 *   nor Enter in its search box
 */
export function readPicker(form: URLSearchParams): { state: PickerState; save: boolean } {
  const values = new Map(form)
  const state: PickerState = {
    grants: identifiers(form.getAll('tenant')).map(tenantId => ({
      tenantId,
      withDescendants: values.get(`reach-${tenantId}`) === 'below',
    })),
    opened: identifiers((form.get('opened') ?? '').split(',')).slice(0, mostOpened),
    search: textOf(form, 'search').slice(0, longestSearch),
    searched: textOf(form, 'searched').slice(0, longestSearch),
    entered: false,
  }
  const [deed = '', subject = ''] = (form.get('do') ?? '').split(':')
  const id = parseIdentifier(subject)
  if (deed === 'open' || deed === 'close' || deed === 'add') return { state: press(state, deed, id), save: false }
  // Enter is the same in every field: where a search is under way, it does not save.
  const searching =
    deed === 'find' ||
    (state.search !== '' && state.search !== state.searched) ||
    (deed === 'enter' && state.searched !== '')
  if (!searching) return { state, save: true }
  return { state: { ...state, searched: state.search, entered: deed === 'enter' }, save: false }
}

function press(state: PickerState, deed: 'open' | 'close' | 'add', id: number | null): PickerState {
  if (id === null) return state
  const { grants, opened } = state
  if (deed === 'add') {
    if (grants.some(grant => grant.tenantId === id)) return state
    return { ...state, grants: [...grants, { tenantId: id, withDescendants: false }] }
  }
  const others = opened.filter(other => other !== id)
  return { ...state, opened: deed === 'open' ? [...others, id].slice(0, mostOpened) : others }
}

const identifiers = (texts: string[]) => [...new Set(texts.map(parseIdentifier).filter(id => id !== null))]

/** A picker with nothing opened and nothing searched for. */
export const freshPicker = (grants: TenantGrant[]): PickerState => ({
  grants,
  opened: [],
  search: '',
  searched: '',
  entered: false,
})
