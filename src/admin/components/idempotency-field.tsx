import { randomBytes } from 'node:crypto'
import { textOf } from '../form-body.ts'

/**
 * What a form carries so that it makes one token, however often it is posted: neither a second click nor a reload of
 * the page that showed the secret makes another.
 */
export const OneTime = ({ id }: { id: string }) => <input type="hidden" name="form" value={id} />

export const newFormId = (): string => randomBytes(16).toString('base64url')

/** The id of a posted form; a new one when it carries none. */
export const formIdOf = (form: URLSearchParams): string => {
  const id = textOf(form, 'form')
  return /^[\w-]{22}$/.test(id) ? id : newFormId()
}
