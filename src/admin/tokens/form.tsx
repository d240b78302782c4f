import type { ComponentChildren } from 'preact'
import type { FieldErrors } from '../../domain/errors.ts'
import { type Permission, permissionNames, permissions } from '../../domain/permission.ts'
import type { TenantGrant, TokenRecord } from '../../domain/token.ts'
import { checkTokenInput, type TokenInput } from '../../domain/token-input.ts'
import { count } from '../components/count.ts'
import { FaultSummary, Field, Group } from '../components/field.tsx'
import { CsrfToken, type View } from '../components/layout.tsx'
import { textOf } from '../form-body.ts'
import { type Picker, TenantPicker } from '../tenant-picker/tenant-picker.tsx'
import { PermissionName } from './parts.tsx'

/** What stands in the form's own fields. */
export interface TokenEntry {
  name: string
  contact: string
  /** Operations a minute, as typed. */
  rateLimit: string
  permissions: Permission[]
}

export const blankEntry: TokenEntry = { name: '', contact: '', rateLimit: '', permissions: [] }

export const entryOf = ({ name, contact, rateLimit, permissions }: TokenRecord): TokenEntry => ({
  name,
  contact: contact ?? '',
  rateLimit: rateLimit === null ? '' : String(rateLimit),
  permissions,
})

export function readEntry(form: URLSearchParams): TokenEntry {
  const chosen = form.getAll('permission')
  return {
    name: textOf(form, 'name'),
    contact: textOf(form, 'contact'),
    rateLimit: textOf(form, 'rateLimit'),
    permissions: permissionNames.filter(name => chosen.includes(name)),
  }
}

/** What the administrator wants, as far as it can be read: a rate that is no number is one for `checkWish` to refuse. */
export const wishOf = ({ name, contact, rateLimit, permissions }: TokenEntry, tenants: TenantGrant[]): TokenInput => ({
  name,
  contact: contact || null,
  rateLimit: rateLimit === '' ? null : /^\d{1,15}$/.test(rateLimit) ? Number(rateLimit) : Number.NaN,
  permissions,
  tenants,
})

/** @returns all that is wrong with a wish; a token for no tenant is none that a person wants */
export const checkWish = (wish: TokenInput): FieldErrors => ({
  ...checkTokenInput(wish),
  ...(wish.tenants.length === 0 && { tenants: ['Choose at least one tenant.'] }),
})

interface TokenFormProps {
  view: View
  /** Where it is posted. */
  path: string
  entry: TokenEntry
  picker: Picker
  fieldErrors: FieldErrors
  /** Operations a minute of a token without a rate of its own. */
  defaultRate: number
  /** What the button says that saves. */
  verb: string
  /** Where one goes to leave all as it is. */
  leave: string
  /** Fields that only one of the two forms has. */
  children: ComponentChildren
}

/** The form in which a token is created, or edited. */
export function TokenForm({
  view,
  path,
  entry,
  picker,
  fieldErrors,
  defaultRate,
  verb,
  leave,
  children,
}: TokenFormProps) {
  return (
    // The service says what is wrong: a browser that did would keep the picker's buttons from working.
    <form method="post" action={path} noValidate>
      {/* Enter presses a form's first button. */}
      <button type="submit" name="do" value="enter" class="skip" tabIndex={-1} aria-hidden="true">
        {verb}
      </button>
      <CsrfToken view={view} />
      <FaultSummary fieldErrors={fieldErrors} />
      <Group legend="About">
        <Field
          name="name"
          label="Name"
          hint="What you will know it by: the partner, and what it is for."
          value={entry.name}
          fieldErrors={fieldErrors}
          required
          maxlength={200}
          autocomplete="off"
        />
        <Field
          name="contact"
          label="Contact"
          hint="Who answers for it at the partner, such as an e-mail address. May be left empty."
          value={entry.contact}
          fieldErrors={fieldErrors}
          maxlength={200}
          autocomplete="off"
        />
        <Field
          name="rateLimit"
          label="Rate"
          hint={`Operations a minute. Left empty: ${count(defaultRate)}, the default.`}
          value={entry.rateLimit}
          fieldErrors={fieldErrors}
          maxlength={15}
          autocomplete="off"
        />
      </Group>
      <Permissions chosen={entry.permissions} />
      <TenantPicker picker={picker} path={path} fieldErrors={fieldErrors} />
      {children}
      <div class="actions">
        <button type="submit" name="do" value="save">
          {verb}
        </button>
        <a class="button plain" href={leave}>
          Cancel
        </a>
      </div>
    </form>
  )
}

function Permissions({ chosen }: { chosen: Permission[] }) {
  return (
    <Group
      legend="Permissions"
      hint="Give it what it needs and no more. With none it may list its tenants, and nothing else."
    >
      {permissionNames.map(name => (
        <div key={name} class="option">
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
            {name === 'view_orders' && <span class="hint">{ordersHint}</span>}
          </label>
        </div>
      ))}
      <OrdersWarning permissions={chosen} />
    </Group>
  )
}

const ordersHint = 'By itself it opens nothing in v1: purchased vouchers need view_vouchers too.'

/** Says that one of two permissions that belong together is missing. */
export function OrdersWarning({ permissions }: { permissions: Permission[] }) {
  if (!permissions.includes('view_orders') || permissions.includes('view_vouchers')) return null
  return (
    <p class="warning">
      <code>view_orders</code> opens nothing by itself: v1 needs <code>view_vouchers</code> too.
    </p>
  )
}
