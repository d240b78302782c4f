import { randomBytes } from 'node:crypto'
import { textField } from '../form-body.ts'

/**
 * A hidden field that identifies one showing of a form. A form that creates a token creates one token however often it
 * is sent: a second click, or a reload of the page that shows the secret, creates no other.
 */
export const IdempotencyField = ({ value }: { value: string }) => (
  <input type="hidden" name="idempotencyKey" value={value} />
)

/** Returns 128 random bits in base64url. */
export const createIdempotencyKey = (): string => randomBytes(16).toString('base64url')

/** Returns the key that the form carries; a new one when the form has none. */
export function readIdempotencyKey(form: URLSearchParams): string {
  const key = textField(form, 'idempotencyKey')
  return /^[\w-]{22}$/.test(key) ? key : createIdempotencyKey()
}
