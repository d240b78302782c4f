import type { Pool } from '../../../src/db/connect.ts'
import type { Client } from '../../support/app.ts'
import type { Builders } from '../../support/builders.ts'

/** Something that a user, an administrator or the service does. */
export interface Journey {
  what: string
  /** The statements that it is there for. */
  runs: string[]
  go(parts: Parts): Promise<unknown>
  /** Why they pass along many rows: all that a condition on an index finds. */
  walks?: string
  /** Why they may pass along a whole table. */
  excused?: string
}

/** What journeys are made with. */
export interface Parts {
  pool: Pool
  client: Client
  build: Builders
}
