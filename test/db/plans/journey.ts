import { afterAll, beforeAll, describe, it } from 'vitest'
import type { Pool } from '../../../src/db/sql.ts'
import { type Client, createApp } from '../../support/app.ts'
import { type Builders, createBuilders } from '../../support/builders.ts'
import type { TestDatabase } from '../../support/database.ts'
import { createPlanReader, type Plan, type PlanReader } from './plan.ts'

interface Limits {
  /** The rows that a step may read, when it may read more than usual. */
  mostRows?: number
  /** The reason why they may read many rows, which a condition on an index finds. */
  walks?: string
  /** The reason why they may read a whole table. */
  excused?: string
}

/** An action of a user, of an administrator or of the service. */
export interface Journey extends Limits {
  what: string
  runs: string[]
  go(parts: Parts): Promise<unknown>
}

/** @param runs the names of the statements that it has to run, with a space between them */
export const journey = (what: string, runs: string, go: Journey['go'], limits: Limits = {}): Journey => ({
  ...{ what, runs: runs.split(' '), go },
  ...limits,
})

export interface Parts {
  pool: Pool
  client: Client
  build: Builders
}

/**
 * Declares a test of each journey.
 *
 * @param made the journeys with generic plans, and those with custom ones
 * @param check gets the plans of all statements that ran
 * @param onStatement gets the text of each statement, and the journey that sends it
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
      // Its background jobs have other connections: their statements belong to no journey.
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
