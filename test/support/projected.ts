import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from '../../src/db/sql.ts'
import { makeStep } from '../../src/projection/step.ts'

/** Writes the records of all committed changes, as the service's background job does. */
export async function projected(sql: Pool): Promise<void> {
  while (await makeNextStep(sql));
}

/**
 * Runs one step, after the end of a step that the service may run at this moment. Takes the arguments of `makeStep`.
 */
export async function makeNextStep(...step: Parameters<typeof makeStep>): ReturnType<typeof makeStep> {
  for (;;) {
    try {
      return await makeStep(...step)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === '55P03')) throw error
      await pause(5)
    }
  }
}
