/** The error of a database that answers, but that the service must not use. Like an outage, it may end by itself. */
export class DatabaseRefusedError extends Error {
  override readonly name = 'DatabaseRefusedError'
  readonly code = 'DATABASE_REFUSED'

  /** @param reasons sentences that say what is wrong and name the remedy, without data of tenants */
  constructor(readonly reasons: readonly string[]) {
    super(reasons.join('\n'))
  }
}
