// The form that creates or edits a token.
import type { ComponentChildren } from 'preact'
import type { FieldErrors } from '../../domain/errors.ts'
import { checkTokenInput, type TokenInput } from '../../domain/token/input.ts'
import { type Permission, permissionNames, permissions } from '../../domain/token/permission.ts'
import type { TenantGrant, TokenRecord } from '../../domain/token/token.ts'
import { Field, FieldGroup } from '../components/field.tsx'
import { formatCount } from '../components/format.tsx'
import { ButtonLink, useRequestContext } from '../components/layout.tsx'
import { textField } from '../form-body.ts'
import type { Picker } from '../tenant-picker/state.ts'
import { PickerForm, TenantPicker } from '../tenant-picker/tenant-picker.tsx'
import { PermissionName, tokenPath, tokensPath } from './parts.tsx'

const readPermissions = (form: URLSearchParams): Permission[] => {
  const chosen = form.getAll('permission')
  return permissionNames.filter(name => chosen.includes(name))
}

/**
 * Returns the token input of the form that was posted.
 *
 * @param tenants the grants of its tenant picker
 * @returns the input; its rate limit is NaN, which `checkForm` rejects, when it is not a number
 */
export function readTokenInput(form: URLSearchParams, tenants: TenantGrant[]): TokenInput {
  const rateLimit = textField(form, 'rateLimit')
  return {
    name: textField(form, 'name'),
    contact: textField(form, 'contact') || null,
    rateLimit: rateLimit === '' ? null : /^\d{1,15}$/.test(rateLimit) ? Number(rateLimit) : Number.NaN,
    permissions: readPermissions(form),
    tenants,
  }
}

/** Returns all errors of the input; the form, unlike the command line, demands a tenant. */
export const checkForm = (input: TokenInput): FieldErrors => ({
  ...checkTokenInput(input),
  ...(input.tenants.length === 0 && { tenants: ['Choose at least one tenant.'] }),
})

interface TokenFormProps {
  /** The token to edit; null to create a token. */
  token: TokenRecord | null
  picker: Picker
  /** The rate of a token without its own rate limit, in operations a minute. */
  defaultRate: number
  /** The fields that only this form has: the form to create a token, or the form to edit it. */
  children: ComponentChildren
}

/** The form that creates or edits a token. */
export function TokenForm({ token, picker, defaultRate, children }: TokenFormProps) {
  const submitLabel = token ? 'Save the token' : 'Create the token'
  return (
    <PickerForm path={token ? tokenPath(token.id, 'edit') : `${tokensPath}/new`} submitLabel={submitLabel}>
      <FieldGroup legend="About">
        <Field
          name="name"
          label="Name"
          hint="The partner and the purpose, for example “Acme booking system”."
          value={token?.name ?? ''}
          required
          autocomplete="off"
        />
        <Field
          name="contact"
          label="Contact"
          hint="The person at the partner who is responsible for it, for example an e-mail address. Optional."
          value={token?.contact ?? ''}
          autocomplete="off"
        />
        <Field
          name="rateLimit"
          label="Rate"
          hint={`Operations a minute. When empty: ${formatCount(defaultRate)}, the default.`}
          value={String(token?.rateLimit ?? '')}
          maxlength={15}
          autocomplete="off"
        />
      </FieldGroup>
      <Permissions token={token} />
      <TenantPicker picker={picker} />
      {children}
      <div class="actions">
        <button type="submit" name="do" value="save">
          {submitLabel}
        </button>
        <ButtonLink href={token ? tokenPath(token.id) : tokensPath} label="Cancel" />
      </div>
    </PickerForm>
  )
}

function Permissions({ token }: Pick<TokenFormProps, 'token'>) {
  const { posted } = useRequestContext()
  const chosen = posted ? readPermissions(posted) : (token?.permissions ?? [])
  return (
    <FieldGroup
      legend="Permissions"
      hint="Give the token only what it needs. Without a permission it may only list its tenants."
    >
      {permissionNames.map(name => (
        <div class="option">
          <input
            type="checkbox"
            id={`permission-${name}`}
            name="permission"
            value={name}
            checked={chosen.includes(name)}
          />
          <label for={`permission-${name}`}>
            <PermissionName name={name} />
            <span class="hint">{permissions[name]}</span>
            {name === 'view_orders' && (
              <span class="hint">Alone it opens nothing in v1: purchased vouchers also need view_vouchers.</span>
            )}
          </label>
        </div>
      ))}
      <ViewOrdersWarning permissions={chosen} />
    </FieldGroup>
  )
}

/** Warns when `view_orders` is granted without `view_vouchers`: v1 needs both. */
export function ViewOrdersWarning({ permissions }: { permissions: Permission[] }) {
  if (!permissions.includes('view_orders') || permissions.includes('view_vouchers')) return null
  return (
    <p class="warning">
      <code>view_orders</code> alone opens nothing: v1 also needs <code>view_vouchers</code>.
    </p>
  )
}
