import { afterAll, beforeAll, describe, it } from 'vitest'
import type { Pool } from '../../../src/db/sql.ts'
import { type Client, createApp } from '../../support/app.ts'
import { type Builders, createBuilders } from '../../support/builders.ts'
import type { TestDatabase } from '../../support/database.ts'
import { createPlanReader, type Plan, type PlanReader } from './plan.ts'

interface Limits {
  /** The maximum number of rows that a step may read, instead of `usualRows`. */
  mostRows?: number
  /** The reason why statements may read many rows that a condition on an index finds. */
  walks?: string
  /** The reason why statements may read a whole table. */
  excused?: string
}

/** An action of a user, of an administrator or of the service, with the limits of its statements. */
export interface Journey extends Limits {
  what: string
  runs: string[]
  go(parts: Parts): Promise<unknown>
}

/** @param runs the names of the statements that the journey must run, separated by spaces */
export const createJourney = (what: string, runs: string, go: Journey['go'], limits: Limits = {}): Journey => ({
  ...{ what, runs: runs.split(' '), go },
  ...limits,
})

export interface Parts {
  pool: Pool
  client: Client
  build: Builders
}

/**
 * Declares one test per journey.
 *
 * @param made the journeys to run with generic plans, and the journeys to run with custom plans
 * @param check is called with the plans of all statements of a journey
 * @param onStatement is called with the text of each statement and the name of its journey
 */
export function testJourneys(
  database: TestDatabase,
  made: { generic: Journey[]; custom: Journey[] },
  check: (plans: Plan[], journey: Journey) => void,
  onStatement = (_text: string, _journey: string) => {},
): void {
  describe.each(['generic', 'custom'] as const)('with %s plans', kind => {
    let reader: PlanReader
    let parts: Parts
    let current = ''

    beforeAll(async () => {
      reader = await createPlanReader(database, kind)
      const { pool } = reader
      pool.options.debug = (_connection, text) => onStatement(text, current)
      // Background jobs get another pool, because their statements belong to no journey.
      const apart = new Proxy(pool, {
        get: (target, key) => Reflect.get(key === 'background' ? database.pool : target, key),
      })
      parts = { pool, client: await createApp({ pool: apart }), build: createBuilders(database) }
    })

    afterAll(() => parts.client.app.close())

    it.each(made[kind])('$what', async journey => {
      current = journey.what
      check(await reader.during(() => journey.go(parts)), journey)
    })
  })
}
