import { randomBytes } from 'node:crypto'
import { type ComponentChildren, h } from 'preact'
import { passwordHint } from '../../domain/administrator/password.ts'
import { textField } from '../form-body.ts'
import { useRequestContext } from './layout.tsx'

export interface FieldProps {
  name: string
  label: string
  hint?: string
  type?: 'text' | 'password' | 'search' | 'date' | 'datetime-local'
  inputmode?: 'email'
  /** The values to choose from. Without this list, the field takes any text. */
  options?: { value: string; label: string }[]
  /** The value that the field shows before the form is posted. */
  value?: string
  required?: boolean
  maxlength?: number
  /** The value that the browser may fill in: `username`, `current-password`, `new-password` or `off`. */
  autocomplete?: string
}

/**
 * A control with its label, hint and error. Screen readers announce the hint and the error together with the control.
 */
export function Field({ name, label, hint, options, value: initial, ...attributes }: FieldProps) {
  const { fieldErrors, posted } = useRequestContext()
  const invalid = fieldErrors[name] !== undefined
  const current = posted ? textField(posted, name) : initial
  const describedBy = [hint && `${name}-hint`, invalid && `${name}-error`].filter(Boolean).join(' ')
  const connected = {
    id: name,
    name,
    'aria-invalid': invalid || undefined,
    'aria-describedby': describedBy || undefined,
  }
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {hint && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      <FieldError name={name} />
      {options ? (
        <select {...connected}>
          {options.map(({ value, label }) => (
            <option value={value} selected={value === current}>
              {label}
            </option>
          ))}
        </select>
      ) : (
        // The page does not send a password back to the browser.
        h('input', { ...attributes, ...(attributes.type !== 'password' && { value: current }), ...connected })
      )}
    </div>
  )
}

/** The error of one field. */
export function FieldError({ name }: { name: string }) {
  const errors = useRequestContext().fieldErrors[name]
  if (!errors) return null
  return (
    <p class="field-error" id={`${name}-error`}>
      {errors.join(' ')}
    </p>
  )
}

/** The names of the errors that belong to no field: a `FormError` shows these errors. */
const formErrors = ['token', 'revision'] as const

/** The error that belongs to the form and not to one of its fields. @param children the remedy */
export function FormError({ name, children }: { name: (typeof formErrors)[number]; children?: ComponentChildren }) {
  const errors = useRequestContext().fieldErrors[name]
  if (!errors) return null
  return (
    <div class="error-summary" role="alert">
      <p>
        {errors.join(' ')} {children}
      </p>
    </div>
  )
}

/** A list above the form with the errors of fields. Each error is a link to its field. */
export function ErrorSummary() {
  const { fieldErrors } = useRequestContext()
  const entries = Object.entries(fieldErrors).filter(([name]) => !formErrors.some(other => other === name))
  if (entries.length === 0) return null
  return (
    <div class="error-summary" role="alert">
      <p>{entries.length === 1 ? 'Fix one problem:' : `Fix ${entries.length} problems:`}</p>
      <ul>
        {entries.map(([name, errors]) => (
          <li>
            <a href={`#${name}`}>{errors.join(' ')}</a>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Fields that belong together, under one heading. */
export const FieldGroup = (props: { legend: string; hint?: string; children: ComponentChildren }) => (
  <fieldset>
    <legend>{props.legend}</legend>
    {props.hint && <p class="hint">{props.hint}</p>}
    {props.children}
  </fieldset>
)

/** The e-mail of an account. Not `type="email"`, which rejects or rewrites some addresses that `parseEmail` accepts. */
export const EmailField = (props: Pick<FieldProps, 'hint' | 'autocomplete'>) => (
  <Field {...props} name="email" label="E-mail" inputmode="email" required />
)

/**
 * A hidden field with a key, new for each display of a form. A form with this field creates one token, even when it is
 * sent several times: a second click, or a reload of the page that shows the secret, creates no second token.
 */
export const IdempotencyField = () => (
  <input type="hidden" name="idempotencyKey" value={readIdempotencyKey(useRequestContext().posted)} />
)

/** Returns the idempotency key in the form. If the form has none, returns a new key: 128 random bits in base64url. */
export function readIdempotencyKey(form: URLSearchParams | null): string {
  const key = form?.get('idempotencyKey') ?? ''
  return /^[\w-]{22}$/.test(key) ? key : randomBytes(16).toString('base64url')
}

/** A hidden field with the e-mail of the account, from which password managers know the account. */
export const HiddenEmail = ({ email }: { email: string }) => (
  <input type="text" name="email" value={email} autocomplete="username" hidden readonly />
)

/** A required field for a password. */
export const PasswordField = (props: FieldProps) => <Field {...props} type="password" required />

/** Two fields in which a person enters the new password twice. */
export const NewPasswordFields = () => (
  <>
    <PasswordField name="password" label="New password" hint={passwordHint} autocomplete="new-password" />
    <PasswordField name="again" label="The same password again" autocomplete="new-password" />
  </>
)
