/** The functions that run when the tests of a file have ended. */
const cleanups: (() => unknown)[] = []

/**
 * Registers a function to call after the last test of the file. Functions that are registered later are called earlier.
 * Vitest ignores an `afterAll` within a test or a `beforeAll`, but `afterFile` may be called anywhere.
 */
export function afterFile(cleanUp: () => unknown): void {
  cleanups.push(cleanUp)
}

/** Calls all registered functions. @throws the first error, after all functions were called */
export async function cleanUp(): Promise<void> {
  const errors: unknown[] = []
  for (let next = cleanups.pop(); next; next = cleanups.pop()) {
    try {
      await next()
    } catch (error) {
      errors.push(error)
    }
  }
  if (errors.length > 0) throw errors[0]
}
