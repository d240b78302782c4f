import { randomBytes } from 'node:crypto'
import { useRequestContext } from './layout.tsx'

/**
 * A hidden field that identifies one display of a form. A form creates one token, even when it is sent several times: a
 * second click, or a reload of the page that shows the secret, creates no other token.
 */
export const IdempotencyField = () => (
  <input type="hidden" name="idempotencyKey" value={readIdempotencyKey(useRequestContext().posted)} />
)

/** Returns the key in the form; without a key, a new key: 128 random bits in base64url. */
export function readIdempotencyKey(form: URLSearchParams | null): string {
  const key = form?.get('idempotencyKey') ?? ''
  return /^[\w-]{22}$/.test(key) ? key : randomBytes(16).toString('base64url')
}
