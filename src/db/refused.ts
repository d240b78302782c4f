import { ReasonError } from '../reasons.ts'

/** The error of a database that answers, but that the service must not use. Like an outage, it may end by itself. */
export class DatabaseRefusedError extends ReasonError {
  override readonly name = 'DatabaseRefusedError'
  readonly code = 'DATABASE_REFUSED'
}
