import { setTimeout as pause } from 'node:timers/promises'
import type { Pool } from '../../src/db/sql.ts'
import { makeStep } from '../../src/projection/step.ts'

/** Writes the records of all committed changes, as the service's background job does. */
export async function projected(sql: Pool): Promise<void> {
  for (let more: boolean | null = true; more; ) {
    try {
      more = await makeStep(sql)
    } catch (error) {
      // The service makes a step at this moment.
      if (!(error instanceof Error && 'code' in error && error.code === '55P03')) throw error
      await pause(5)
    }
  }
}
