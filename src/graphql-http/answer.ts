import type { ShownError } from './errors.ts'

/** The answer to a request. Without data the request has failed as a whole, and nothing has run. */
export interface Answer {
  /** JSON text in UTF-8. */
  data: Buffer | null
  errors: readonly ShownError[]
}

/**
 * Returns the body of an answer, a line of JSON.
 *
 * @param members the text of further members; an answer without data and errors needs at least one member
 */
export function toBody({ data, errors }: Answer, ...members: string[]): Buffer {
  if (errors.length > 0) members.unshift(`"errors":${JSON.stringify(errors.map(({ body }) => body))}`)
  const others = members.join(',')
  if (!data) return Buffer.from(`{${others}}`)
  return Buffer.concat([Buffer.from('{"data":'), data, Buffer.from(others === '' ? '}' : `,${others}}`)])
}
