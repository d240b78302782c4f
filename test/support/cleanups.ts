/** The functions that run when the tests of a file have ended. */
const cleanups: (() => unknown)[] = []

/**
 * Calls a function after the last test of the file, and after functions that were given later. Vitest forgets an
 * `afterAll` within a test or a `beforeAll`; this one may be called anywhere.
 */
export function afterFile(cleanUp: () => unknown): void {
  cleanups.push(cleanUp)
}

/** Calls all functions that were given. @throws the first error, when all have been called */
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
