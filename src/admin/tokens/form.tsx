// The pages that create and edit a token.
import type { ComponentChildren } from 'preact'
import { type FieldErrors, throwIfErrors } from '../../domain/errors.ts'
import { checkTokenInput, type TokenInput } from '../../domain/token/input.ts'
import { createToken, editToken } from '../../domain/token/lifecycle.ts'
import { type Permission, permissionNames, permissions } from '../../domain/token/permission.ts'
import { type TenantGrant, type TokenRecord, tokenStatus } from '../../domain/token/token.ts'
import { millisecondsPerDay, parseDate } from '../../domain/value/date.ts'
import { parseIdentifier } from '../../domain/value/identifier.ts'
import { Field, FieldGroup, FormError, IdempotencyField, readIdempotencyKey } from '../components/field.tsx'
import { formatCount } from '../components/format.tsx'
import { ButtonLink, Layout, useRequestContext } from '../components/layout.tsx'
import { actorOf, type Handler, type HandlerById, redirectWithFlash, sendPage } from '../context.ts'
import { findForm, formBody, textField } from '../form-body.ts'
import { loadPicker, type Picker, readPicker } from '../tenant-picker/state.ts'
import { PickerForm, TenantPicker } from '../tenant-picker/tenant-picker.tsx'
import { InactiveTokenPage, loadToken, PermissionName, sendSecret, tokenPath, tokensPath } from './parts.tsx'

const readPermissions = (form: URLSearchParams): Permission[] => {
  const chosen = form.getAll('permission')
  return permissionNames.filter(name => chosen.includes(name))
}

/**
 * Returns the token input of the form that was posted.
 *
 * @param tenants the grants of its tenant picker
 * @returns the input; if the text of the rate limit is not a number, the rate limit is NaN, which `checkForm` rejects
 */
function readTokenInput(form: URLSearchParams, tenants: TenantGrant[]): TokenInput {
  const rateLimit = textField(form, 'rateLimit')
  return {
    name: textField(form, 'name'),
    contact: textField(form, 'contact') || null,
    rateLimit: rateLimit === '' ? null : /^\d{1,15}$/.test(rateLimit) ? Number(rateLimit) : Number.NaN,
    permissions: readPermissions(form),
    tenants,
  }
}

/** Returns all errors of the input. The form demands at least one tenant, whereas the command line does not. */
const checkForm = (input: TokenInput): FieldErrors => ({
  ...checkTokenInput(input),
  ...(input.tenants.length === 0 && { tenants: ['Choose at least one tenant.'] }),
})

interface TokenFormProps {
  /** The token to edit; null to create a token. */
  token: TokenRecord | null
  picker: Picker
  /** The rate of a token that has no rate limit of its own, in operations per minute. */
  defaultRate: number
  /** The fields that only one of the two forms has: the form that creates a token, or the form that edits it. */
  children: ComponentChildren
}

function TokenForm({ token, picker, defaultRate, children }: TokenFormProps) {
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

/** GET /admin/tokens/new */
export const showCreate: Handler = async ({ sql, config }, request, reply) =>
  sendPage(
    reply,
    <Layout title="Create a token" section="tokens" narrow>
      <TokenForm token={null} picker={await loadPicker(sql, findForm(request))} defaultRate={config.rateLimitPerMinute}>
        <IdempotencyField />
        <Expiry />
      </TokenForm>
    </Layout>,
  )

/** POST /admin/tokens/new */
export const create: Handler = async (context, request, reply) => {
  const form = formBody(request)
  const { state, save } = readPicker(form)
  if (!save) return showCreate(context, request, reply)
  const input = readTokenInput(form, state.grants)
  const { expiresAt, fieldErrors } = readExpiry(form)
  throwIfErrors({ ...checkForm(input), ...fieldErrors })
  const key = readIdempotencyKey(form)
  return sendSecret(reply, await createToken(context.sql, actorOf(request), { ...input, expiresAt }, key))
}

const expiries = ['30', '90', '180', '365']

function readExpiry(form: URLSearchParams): { expiresAt: Date | null; fieldErrors: FieldErrors } {
  const [expiry, expiresAt] = [textField(form, 'expiry'), textField(form, 'expiresAt')]
  const invalid = (name: string, message: string) => ({ expiresAt: null, fieldErrors: { [name]: [message] } })
  const valid = (date: Date | null) => ({ expiresAt: date, fieldErrors: {} })
  if (expiry === 'date') {
    if (parseDate(expiresAt) === null) return invalid('expiresAt', 'Give a date.')
    const date = new Date(`${expiresAt}T23:59:59Z`)
    return date.getTime() > Date.now() ? valid(date) : invalid('expiresAt', 'Give a date in the future.')
  }
  if (expiresAt !== '') return invalid('expiresAt', 'Choose “on a date” above, or leave the date empty.')
  if (expiry === 'never') return valid(null)
  if (expiries.includes(expiry)) return valid(new Date(Date.now() + Number(expiry) * millisecondsPerDay))
  return invalid('expiry', 'Choose when the token ends.')
}

const Expiry = () => (
  <FieldGroup legend="End" hint="An end limits the damage of a lost secret. The token can be rotated before it ends.">
    <Field
      name="expiry"
      label="The token ends"
      value="90"
      options={[
        ...expiries.map(days => ({ value: days, label: `in ${days} days` })),
        { value: 'date', label: 'on a date' },
        { value: 'never', label: 'never' },
      ]}
    />
    <Field
      name="expiresAt"
      label="Date"
      type="date"
      hint="Only for “on a date”. The token is valid until the end of that day, UTC."
    />
  </FieldGroup>
)

/** GET /admin/tokens/:id/edit */
export const showEdit: HandlerById = async (context, request, reply) => {
  const token = await loadToken(context, request.params)
  if (tokenStatus(token) !== 'active') return sendPage(reply, <InactiveTokenPage token={token} action="Edit" />)
  return sendPage(
    reply,
    <Layout title={`Edit ${token.name}`} section="tokens" narrow>
      <FormError name="revision">
        <a href={tokenPath(token.id, 'edit')}>Reload the form</a>, which discards what you have entered here.
      </FormError>
      <TokenForm
        token={token}
        picker={await loadPicker(context.sql, findForm(request), token.tenants)}
        defaultRate={context.config.rateLimitPerMinute}
      >
        <Revision of={token} />
      </TokenForm>
    </Layout>,
  )
}

/** POST /admin/tokens/:id/edit */
export const edit: HandlerById = async (context, request, reply) => {
  const { id } = await loadToken(context, request.params)
  const form = formBody(request)
  const { state, save } = readPicker(form)
  if (!save) return showEdit(context, request, reply)
  const input = readTokenInput(form, state.grants)
  throwIfErrors(checkForm(input))
  await editToken(context.sql, actorOf(request), id, parseIdentifier(textField(form, 'revision')), input)
  return redirectWithFlash(
    reply,
    tokenPath(id),
    'The token is saved. All instances of the service apply it within a second.',
  )
}

/** The revision of the token when the form was loaded. The form is rejected when the token has changed since then. */
const Revision = ({ of: { revision } }: { of: TokenRecord }) => (
  <input type="hidden" name="revision" value={useRequestContext().posted?.get('revision') ?? revision} />
)
