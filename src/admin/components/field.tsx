import { type ComponentChildren, h, type VNode } from 'preact'
import { type FieldErrors, hasErrors } from '../../domain/errors.ts'

interface LabelledProps {
  name: string
  label: string
  /** Text that helps to fill in the field. */
  hint?: string
  fieldErrors?: FieldErrors
}

/**
 * A control with its label, its hint and its error, which screen readers announce with the control.
 *
 * @param control makes the control of the attributes that connect it with the three
 */
function Labelled({
  name,
  label,
  hint,
  fieldErrors = {},
  control,
}: LabelledProps & { control: (attributes: Record<string, unknown>) => VNode }) {
  const invalid = fieldErrors[name] !== undefined
  const describedBy = [hint && `${name}-hint`, invalid && `${name}-error`].filter(Boolean).join(' ')
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {hint && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      <FieldError name={name} fieldErrors={fieldErrors} />
      {control({ id: name, name, 'aria-invalid': invalid || undefined, 'aria-describedby': describedBy || undefined })}
    </div>
  )
}

interface FieldProps extends LabelledProps {
  type?: 'text' | 'email' | 'password' | 'search' | 'date'
  value?: string
  required?: boolean
  maxlength?: number
  /** What the browser may fill in: `username`, `current-password`, `new-password` or `off`. */
  autocomplete?: string
}

/** A text field. */
export const Field = ({ name, label, hint, fieldErrors, ...attributes }: FieldProps) => (
  <Labelled
    {...{ name, label, ...(hint && { hint }), ...(fieldErrors && { fieldErrors }) }}
    control={connected => h('input', { ...attributes, ...connected })}
  />
)

interface SelectProps extends LabelledProps {
  options: { value: string; label: string }[]
  value?: string
}

/** A field with a few values to choose from. */
export const Select = ({ options, value, ...labelled }: SelectProps) => (
  <Labelled
    {...labelled}
    control={connected => (
      <select {...connected}>
        {options.map(option => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
    )}
  />
)

/** The error of one field. */
export function FieldError({ name, fieldErrors }: { name: string; fieldErrors: FieldErrors }) {
  const errors = fieldErrors[name]
  if (!errors) return null
  return (
    <p class="field-error" id={`${name}-error`}>
      {errors.join(' ')}
    </p>
  )
}

/** All errors of a form, above it, each with a link to its field. */
export function ErrorSummary({ fieldErrors }: { fieldErrors: FieldErrors }) {
  if (!hasErrors(fieldErrors)) return null
  const entries = Object.entries(fieldErrors)
  return (
    <div class="error-summary" role="alert">
      <p>{entries.length === 1 ? 'Fix one problem:' : `Fix ${entries.length} problems:`}</p>
      <ul>
        {entries.map(([name, errors]) => (
          <li key={name}>
            <a href={`#${name}`}>{errors.join(' ')}</a>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** Fields that belong together, under one heading. */
export function FieldGroup({ legend, hint, children }: { legend: string; hint?: string; children: ComponentChildren }) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {hint && <p class="hint">{hint}</p>}
      {children}
    </fieldset>
  )
}

/** The e-mail of an account. */
export const EmailField = (props: Pick<FieldProps, 'value' | 'hint' | 'fieldErrors' | 'autocomplete'>) => (
  <Field {...props} name="email" label="E-mail" type="email" required maxlength={254} />
)
