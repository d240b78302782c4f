import { parseIdentifier } from '../../domain/identifier.ts'
import type { TenantGrant } from '../../domain/token.ts'
import { textField } from '../form-body.ts'

/** The state of the tenant picker. It is posted with the form. */
export interface PickerState {
  /** The chosen tenants. */
  grants: TenantGrant[]
  /** The tenants whose children are shown. */
  opened: number[]
  /** The text in the search box. */
  search: string
  /** The search whose matches are shown. */
  searched: string
  /** Whether Enter has started the search: then the page opens at the search box instead of at its top. */
  entered: boolean
}

/** How many tenants may be open at once. */
export const maxOpened = 200

/** The longest search, in characters. */
export const maxSearchLength = 200

/**
 * Reads the picker's fields of a posted form, and applies the picker's button that was pressed.
 *
 * @returns the next state, and whether to save the form: no button of the picker was pressed, nor Enter in its search
 */
export function readPicker(form: URLSearchParams): { state: PickerState; save: boolean } {
  const values = new Map(form)
  const state: PickerState = {
    grants: identifiers(form.getAll('tenant')).map(tenantId => ({
      tenantId,
      withDescendants: values.get(`reach-${tenantId}`) === 'below',
    })),
    opened: identifiers((form.get('opened') ?? '').split(',')).slice(0, maxOpened),
    search: textField(form, 'search').slice(0, maxSearchLength),
    searched: textField(form, 'searched').slice(0, maxSearchLength),
    entered: false,
  }
  const [button = '', subject = ''] = (form.get('do') ?? '').split(':')
  const id = parseIdentifier(subject)
  if (button === 'open' || button === 'close' || button === 'add')
    return { state: press(state, button, id), save: false }
  // Enter is the same in every field: during a search it does not save.
  const isSearch =
    button === 'find' ||
    (state.search !== '' && state.search !== state.searched) ||
    (button === 'enter' && state.searched !== '')
  if (!isSearch) return { state, save: true }
  return { state: { ...state, searched: state.search, entered: button === 'enter' }, save: false }
}

function press(state: PickerState, button: 'open' | 'close' | 'add', id: number | null): PickerState {
  if (id === null) return state
  const { grants, opened } = state
  if (button === 'add') {
    if (grants.some(grant => grant.tenantId === id)) return state
    return { ...state, grants: [...grants, { tenantId: id, withDescendants: false }] }
  }
  const others = opened.filter(other => other !== id)
  return { ...state, opened: button === 'open' ? [...others, id].slice(0, maxOpened) : others }
}

const identifiers = (texts: string[]) => [...new Set(texts.map(parseIdentifier).filter(id => id !== null))]

/** Returns the state of a picker with these tenants chosen, nothing opened and no search. */
export const createPickerState = (grants: TenantGrant[]): PickerState => ({
  grants,
  opened: [],
  search: '',
  searched: '',
  entered: false,
})
