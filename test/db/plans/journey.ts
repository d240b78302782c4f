import type { Pool } from '../../../src/db/sql.ts'
import type { Client } from '../../support/app.ts'
import type { Builders } from '../../support/builders.ts'

/** What the statements of a journey may read. */
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
  /** The statements that it has to run. */
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
