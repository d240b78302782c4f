/** JSON of unknown shape. */

/** Checks that a value is an object, so that its properties can be read. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** Parses JSON. @returns undefined when it is none */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
