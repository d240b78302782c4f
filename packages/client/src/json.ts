/** JSON of unknown shape. */

/** Returns whether a value is not a primitive, so that its properties can be read. True for an array. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null

/** Parses JSON. @returns undefined when the text is not JSON */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
