import type { Pool } from '../sql.ts'

/**
 * Lets V8 keep the compiled constructors of the driver's statements and results.
 *
 * Both classes have a computed static member (`static get [Symbol.species]`), which keeps a class in dictionary mode.
 * V8 compiles the constructor of such a class and discards the code again and again (`node --trace-opt`: "Bailed out
 * due to dependency change"; Node 20 and 24). Without compiled code each statement leaves two closures in old space.
 * Reading a class's name ends dictionary mode.
 */
export async function letDriverCompile(pool: Pool): Promise<void> {
  const statement = pool`select /* driver.compile */ 1`
  for (const instance of [statement, await statement]) void instance.constructor.name
}
