import { type ComponentChildren, h } from 'preact'
import type { FieldErrors } from '../../domain/errors.ts'

interface FieldProps {
  name: string
  label: string
  type?: 'text' | 'email' | 'password' | 'search' | 'number' | 'date'
  value?: string
  /** What helps to fill it in. */
  hint?: string
  fieldErrors?: FieldErrors
  required?: boolean
  maxlength?: number
  /** What a browser may fill in by itself: `username`, `current-password`, `new-password`, `off`. */
  autocomplete?: string
}

/** As a mere string: Preact's types want to know which kind of input it is, which only the caller does. */
const input: string = 'input'

/** A text field with its label, its hint, and what is wrong with it beside it. */
export function Field({ name, label, hint, fieldErrors = {}, ...attributes }: FieldProps) {
  const wrong = fieldErrors[name]
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {hint && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      <Fault name={name} fieldErrors={fieldErrors} />
      {h(input, {
        ...attributes,
        id: name,
        name,
        'aria-invalid': wrong ? true : undefined,
        'aria-describedby': describedBy(name, hint, wrong),
      })}
    </div>
  )
}

interface ChoiceProps {
  name: string
  label: string
  hint?: string
  fieldErrors?: FieldErrors
  options: { value: string; label: string }[]
  value?: string
}

/** One of a few values. */
export function Choice({ name, label, hint, fieldErrors = {}, options, value }: ChoiceProps) {
  const wrong = fieldErrors[name]
  return (
    <div class="field">
      <label for={name}>{label}</label>
      {hint && (
        <p class="hint" id={`${name}-hint`}>
          {hint}
        </p>
      )}
      <Fault name={name} fieldErrors={fieldErrors} />
      <select
        id={name}
        name={name}
        aria-invalid={wrong ? true : undefined}
        aria-describedby={describedBy(name, hint, wrong)}
      >
        {options.map(option => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  )
}

/** What is wrong with one field. */
export function Fault({ name, fieldErrors }: { name: string; fieldErrors: FieldErrors }) {
  const wrong = fieldErrors[name]
  if (!wrong) return null
  return (
    <p class="fault" id={`${name}-fault`}>
      {wrong.join(' ')}
    </p>
  )
}

const describedBy = (name: string, hint: string | undefined, wrong: string[] | undefined) =>
  [hint && `${name}-hint`, wrong && `${name}-fault`].filter(Boolean).join(' ') || undefined

/** What is wrong with a form as a whole, above it, with a way to each field. */
export function FaultSummary({ fieldErrors }: { fieldErrors: FieldErrors }) {
  const entries = Object.entries(fieldErrors)
  if (entries.length === 0) return null
  return (
    <div class="field-errors" role="alert">
      <p>{entries.length === 1 ? 'One thing is to be mended:' : 'Some things are to be mended:'}</p>
      <ul>
        {entries.map(([name, sentences]) => (
          <li key={name}>
            <a href={`#${name}`}>{sentences.join(' ')}</a>
          </li>
        ))}
      </ul>
    </div>
  )
}

/** A group of fields under one name. */
export function Group({ legend, hint, children }: { legend: string; hint?: string; children: ComponentChildren }) {
  return (
    <fieldset>
      <legend>{legend}</legend>
      {hint && <p class="hint">{hint}</p>}
      {children}
    </fieldset>
  )
}
