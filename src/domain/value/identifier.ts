import { orNotFound } from '../errors.ts'

/** Parses the id of a record: a plain positive integer up to 2^53 - 1 (R7). Returns null for any other text. */
export function parseIdentifier(text: string): number | null {
  if (!/^[1-9]\d{0,15}$/.test(text)) return null
  const id = Number(text)
  return Number.isSafeInteger(id) ? id : null
}

/**
 * Parses the id of a record that must exist.
 *
 * @param noun the noun for the record in the error message, for example `token`
 * @throws `NOT_FOUND` when the text is no identifier, because no record can have it
 */
export const requireIdentifier = (text: string, noun: string): number => orNotFound(noun)(parseIdentifier(text))
