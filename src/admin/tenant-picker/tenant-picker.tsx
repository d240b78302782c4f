import type { ComponentChildren } from 'preact'
import { adminPath, assetsPath } from '../../http/paths.ts'
import { ErrorSummary, FieldError, FieldGroup } from '../components/field.tsx'
import { PostForm } from '../components/layout.tsx'
import { ChosenTenants, Results } from './lists.tsx'
import { maxSearchLength, type Picker } from './state.ts'

/**
 * Chooses tenants. Its buttons post the form around the picker, and the page comes back with the same values. When
 * scripts run, the buttons change the picker without a new page (packages/pages/src/tenant-picker.js).
 */
export const TenantPicker = ({ picker }: { picker: Picker }) => (
  <div id="tenants" data-lists={`${adminPath}/tenants`}>
    <FieldGroup
      legend="Tenants"
      hint="The tenants whose data the token may read. “With all below it” includes tenants that are added later."
    >
      <FieldError name="tenants" />
      <div class="field">
        <label for="search">Find a tenant</label>
        <p class="hint" id="search-hint">
          Part of its name or subdomain, or its id.
        </p>
        <div class="input-row">
          <input
            id="search"
            name="search"
            type="search"
            value={picker.search}
            maxlength={maxSearchLength}
            autocomplete="off"
            autofocus={picker.entered}
            aria-describedby="search-hint"
          />
          <button type="submit" name="do" value="find" class="secondary" formaction="#tenants">
            Find
          </button>
        </div>
      </div>
      <Results {...picker} />
      <ChosenTenants {...picker} />
      <p id="picker-status" class="off-screen" role="status" />
    </FieldGroup>
    <script src={`${assetsPath}/tenant-picker.js`} defer />
  </div>
)

/**
 * The form around a tenant picker. The browser does not validate the form, because its validation would block the
 * picker's buttons. The service validates.
 */
export const PickerForm = (props: { path: string; submitLabel: string; children: ComponentChildren }) => (
  <PostForm action={props.path} noValidate>
    {/* Browsers press the first button of a form when a person presses Enter. */}
    <button type="submit" name="do" value="enter" class="off-screen" tabIndex={-1} aria-hidden="true">
      {props.submitLabel}
    </button>
    <ErrorSummary />
    {props.children}
  </PostForm>
)
