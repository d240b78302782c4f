import type { ComponentChildren } from 'preact'
import { assetsPath } from '../../http/paths.ts'
import { ErrorSummary, FieldError, FieldGroup } from '../components/field.tsx'
import { PostForm } from '../components/layout.tsx'
import { ChosenTenants, SearchMatches } from './lists.tsx'
import type { Picker } from './load.ts'
import { AddSelected, ScrollPane } from './parts.tsx'
import { canShowMore, levelsText, listsPath, maxSearchLength } from './state.ts'
import { Level } from './tree.tsx'

/**
 * Chooses tenants. Its buttons post the form around it, which comes back with the same values; with a script they change
 * the picker in place (packages/pages/src/tenant-picker.js).
 */
export function TenantPicker({ picker }: { picker: Picker }) {
  const { state, chosen, searched, matches, levels } = picker
  return (
    <div id="tenants" data-lists={listsPath}>
      <FieldGroup
        legend="Tenants"
        hint="The tenants whose data the token may read. “With all below it” includes tenants that are added later."
      >
        <FieldError name="tenants" />
        <input type="hidden" name="opened" value={levelsText(state.levels)} />
        <ChosenTenants chosen={chosen} />
        <div class="field" id="find">
          <label for="search">Find a tenant</label>
          <p class="hint" id="search-hint">
            Part of its name or subdomain, or its id.
          </p>
          <div class="input-row">
            <input
              id="search"
              name="search"
              type="search"
              value={state.search}
              maxlength={maxSearchLength}
              autocomplete="off"
              autofocus={state.entered}
              aria-describedby="search-hint"
            />
            <button type="submit" name="do" value="find" class="secondary" formaction="#find">
              Find
            </button>
          </div>
        </div>
        <SearchMatches chosen={chosen} searched={searched} matches={matches} />
        <p class="muted">Or choose in the tree:</p>
        {!canShowMore(state.levels) && <p class="warning">Close a tenant before you open another.</p>}
        <ScrollPane label="Tree of tenants">
          <Level levels={levels} parent={null} chosen={new Set(chosen.map(({ grant }) => grant.tenantId))} />
        </ScrollPane>
        <AddSelected id="add-selected" />
        <p id="picker-status" class="off-screen" role="status" />
      </FieldGroup>
      <script src={`${assetsPath}/tenant-picker.js`} defer />
    </div>
  )
}

/** The form around a tenant picker. The service validates: validation by the browser would block the picker's buttons. */
export const PickerForm = (props: { path: string; submitLabel: string; children: ComponentChildren }) => (
  <PostForm action={props.path} noValidate>
    {/* Enter presses the first button of a form. */}
    <button type="submit" name="do" value="enter" class="off-screen" tabIndex={-1} aria-hidden="true">
      {props.submitLabel}
    </button>
    <ErrorSummary />
    {props.children}
  </PostForm>
)
