import type { Pool } from './connect.ts'

/**
 * Lets V8 keep what it compiles of the constructors of the driver's statements and results.
 *
 * A computed static member, which both classes have (`static get [Symbol.species]`), keeps a class in dictionary mode, and
 * the constructor of a class in that mode is compiled, thrown away and compiled again, for ever (`node --trace-opt`:
 * "Bailed out due to dependency change"; Node 20 and 24). Uncompiled, each statement leaves two closures in old space,
 * and they hold all that belongs to it until the whole heap is collected. Reading a class's name ends that mode.
 */
export async function letDriverCompile(pool: Pool): Promise<void> {
  const statement = pool`select /* driver.compile */ 1`
  for (const made of [statement, await statement]) void made.constructor.name
}
