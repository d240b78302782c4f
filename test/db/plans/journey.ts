import type { Pool, Sql } from '../../../src/db/connect.ts'
import type { Client } from '../../support/app.ts'
import type { Builders } from '../../support/builders.ts'

/** An action of a user, of an administrator or of the service. */
export interface Journey {
  what: string
  /** The statements that it has to run. */
  runs: string[]
  go(parts: Parts): Promise<unknown>
  /** The rows that a step may read, when it may read more than usual. */
  mostRows?: number
  /** The reason why they may read many rows, which a condition on an index finds. */
  walks?: string
  /** The reason why they may read a whole table. */
  excused?: string
}

export interface Parts {
  pool: Pool
  /** The connections whose plans are not read. */
  apart: Sql
  client: Client
  build: Builders
}
