import { randomBytes } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import { LRUCache } from 'lru-cache'
import { textOf } from './posted.ts'

/** What a form carries so that it makes one token, however often it is posted. */
export const OneTime = ({ id }: { id: string }) => <input type="hidden" name="form" value={id} />

export const newFormId = (): string => randomBytes(16).toString('base64url')

/** The id of a posted form; a new one when it carries none. */
export const formIdOf = (form: URLSearchParams): string => {
  const id = textOf(form, 'form')
  return /^[\w-]{22}$/.test(id) ? id : newFormId()
}

/** A token that was made by this request, with its secret, or by the same form before. */
export type Making = { id: number; secret: string } | { id: number; secret: null }

/** The tokens that forms have made or are just making, by session and form. */
const makings = new LRUCache<string, Promise<number>>({ max: 10_000 })

/**
 * Makes a token of a form, once: neither a second click nor a reload of the page that showed the secret makes another.
 * Remembered by this process alone.
 *
 * @param make throws when no token is made; the form may then be posted again
 */
export async function makeOnce(
  { session }: FastifyRequest,
  formId: string,
  make: () => Promise<{ id: number; secret: string }>,
): Promise<Making> {
  const key = `${session.sessionId} ${formId}`
  const before = makings.get(key)
  if (before) return { id: await before, secret: null }
  const made = make()
  const id = made.then(token => token.id)
  makings.set(key, id)
  id.catch(() => makings.delete(key))
  return made
}
